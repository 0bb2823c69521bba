/** X.509 certificates for loopback, made in the test: just enough DER for a CA and what it signs. */
import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface Certified {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

export interface Authority extends Certified {
  /** A certificate for `name`, signed by this authority; it is for 127.0.0.1 where no other host is given. */
  issue(name: string, hosts?: { readonly dns?: string; readonly isLoopback?: boolean }): Certified;
}

const ECDSA_SHA256 = '2a8648ce3d040302';
const COMMON_NAME = '550403';
const BASIC_CONSTRAINTS = '551d13';
const SUBJECT_ALT_NAME = '551d11';

export function newAuthority(name: string): Authority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const isAuthority = sequence(tagged(0x01, Buffer.of(0xff)));
  const cert = certificate({
    subject: name,
    issuer: name,
    publicKey: keys.publicKey,
    signer: keys.privateKey,
    extension: extension(BASIC_CONSTRAINTS, isAuthority),
  });
  return {
    cert,
    key: pemOf(keys.privateKey),
    issue: (subject, { dns, isLoopback = true } = {}) => {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const names = [
        ...(dns === undefined ? [] : [tagged(0x82, Buffer.from(dns))]),
        ...(isLoopback ? [tagged(0x87, Buffer.of(127, 0, 0, 1))] : []),
      ];
      const signed = certificate({
        subject,
        issuer: name,
        publicKey: own.publicKey,
        signer: keys.privateKey,
        extension: extension(SUBJECT_ALT_NAME, sequence(...names)),
      });
      return { cert: signed, key: pemOf(own.privateKey) };
    },
  };
}

interface Content {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly extension: Buffer;
}

function certificate({ subject, issuer, publicKey, signer, extension: only }: Content): string {
  const algorithm = sequence(objectId(ECDSA_SHA256));
  const signed = sequence(
    tagged(0xa0, tagged(0x02, Buffer.of(2))),
    tagged(0x02, Buffer.concat([Buffer.of(1), randomBytes(15)])),
    algorithm,
    distinguishedName(issuer),
    sequence(utcTime('200101000000Z'), utcTime('491231235959Z')),
    distinguishedName(subject),
    createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })).export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(only)),
  );
  const whole = sequence(signed, algorithm, bits(sign('sha256', signed, signer)));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function objectId(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

function utcTime(text: string): Buffer {
  return tagged(0x17, Buffer.from(text));
}

function bits(content: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.of(0), content]));
}

function distinguishedName(name: string): Buffer {
  return sequence(tagged(0x31, sequence(objectId(COMMON_NAME), tagged(0x0c, Buffer.from(name)))));
}

function extension(id: string, content: Buffer): Buffer {
  return sequence(objectId(id), tagged(0x01, Buffer.of(0xff)), tagged(0x04, content));
}
