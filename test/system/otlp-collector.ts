/** A collector on loopback that takes OTLP/HTTP in protobuf, as a real one does. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';
import { waitFor } from '../fakes/wait-for.ts';

/** The part of opentelemetry-proto that spans travel in. */
const SCHEMA = `
syntax = "proto3";
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; string version = 2; repeated KeyValue attributes = 3; }
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Status { string message = 2; int32 code = 3; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
}
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Request { repeated ResourceSpans resource_spans = 1; }
`;
const REQUEST = protobuf.parse(SCHEMA).root.lookupType('Request');

export const SERVER = 2;
export const CLIENT = 3;
export const FAILED = 2;

export type Attributes = Readonly<Record<string, unknown>>;

/** Ids in lower-case hex, '' where absent; times in milliseconds since 1970. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly status: number;
  readonly events: number;
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

export interface OtlpCollector {
  readonly origin: string;
  /** Path and content type of each request. */
  readonly requests: readonly { readonly path: string; readonly contentType: string }[];
  spans(): readonly ReceivedSpan[];
  /** The spans of one trace, once the server span, which is written last, is there. */
  trace(traceId: string): Promise<readonly ReceivedSpan[]>;
  /** Everything that came, as text. */
  text(): string;
  /** What later requests get; default 200. */
  answer(send: (response: ServerResponse) => void): void;
  close(): Promise<void>;
}

interface WireAttribute {
  readonly key: string;
  readonly value?: Readonly<Record<string, unknown>>;
}
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly WireAttribute[];
  readonly events?: readonly unknown[];
  readonly status?: { readonly code?: number };
}
interface WireRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly WireAttribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly WireSpan[] }[];
  }[];
}

function hexOf(base64 = ''): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

function attributesOf(attributes: readonly WireAttribute[] = []): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value = {} }) => {
      const [[type, held] = ['', undefined]] = Object.entries(value);
      return [key, type === 'intValue' ? Number(held) : held];
    }),
  );
}

function spanOf(span: WireSpan, resource: Attributes): ReceivedSpan {
  return {
    traceId: hexOf(span.traceId),
    spanId: hexOf(span.spanId),
    parentSpanId: hexOf(span.parentSpanId),
    traceState: span.traceState ?? '',
    name: span.name,
    kind: span.kind,
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    status: span.status?.code ?? 0,
    events: span.events?.length ?? 0,
    attributes: attributesOf(span.attributes),
    resource,
  };
}

function spansOf(body: Uint8Array): ReceivedSpan[] {
  const { resourceSpans = [] } = REQUEST.toObject(REQUEST.decode(body), {
    bytes: String,
    longs: String,
  }) as WireRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => spanOf(span, attributesOf(resource?.attributes)))),
  );
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const requests: { path: string; contentType: string }[] = [];
  const spans: ReceivedSpan[] = [];
  let raw = '';
  let send = (response: ServerResponse): void => void response.writeHead(200).end();
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    requests.push({ path: request.url ?? '', contentType: request.headers['content-type'] ?? '' });
    raw += `${JSON.stringify(request.headers)}${body.toString('latin1')}`;
    spans.push(...spansOf(body));
    send(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans: () => spans,
    async trace(traceId) {
      const ofTrace = () => spans.filter((span) => span.traceId === traceId);
      await waitFor(() => ofTrace().some(({ kind }) => kind === SERVER), `the server span of trace ${traceId}`);
      return ofTrace();
    },
    text: () => raw + JSON.stringify(spans),
    answer(next) {
      send = next;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
