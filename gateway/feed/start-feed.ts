/** Puts the sources of snapshots together: the last good one, the mounted volume, the API server. */
import { join } from 'node:path';
import type { ApiClient } from '#crds/api/api-client.ts';
import { Complaints } from '#crds/command/complaints.ts';
import type { Gateway } from '../server.ts';
import { Feed, type FeedSource } from './feed.ts';
import { Intake } from './intake.ts';
import { LastGood } from './last-good.ts';
import { Objects } from './objects.ts';
import { SharesFeed } from './shares-feed.ts';
import { Volume } from './volume.ts';

export interface FeedSources {
  readonly gateway: Pick<Gateway, 'load' | 'log' | 'takeShares'>;
  /** Where the volume is mounted. */
  readonly snapshotDir: string;
  /** Where the last good snapshot is kept. */
  readonly stateDir: string;
  /** Of one kind, at most. */
  readonly maxShards: number;
  /** Between two looks at the volume without a hint of the file system. Default 3,000. */
  readonly pollMs?: number;
}

/** Where a release publishes. */
export interface ApiPlace {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly release: string;
}

export interface RunningFeed {
  /** Watches the published objects besides; once. */
  follow(place: ApiPlace): void;
  /** Follows nothing any longer; resolves when the snapshot in use is kept. */
  close(): Promise<void>;
}

/** Resolves when the last good snapshot and the volume were looked at once. */
export async function startFeed(sources: FeedSources): Promise<RunningFeed> {
  const { gateway, snapshotDir, stateDir, maxShards, pollMs } = sources;
  const complaints = new Complaints(gateway.log);
  const lastGood = new LastGood({ directory: join(stateDir, 'last-good'), complaints });
  const feed = new Feed({
    gateway,
    onServed(index, shards, source) {
      if (source !== 'state') lastGood.keep({ index: index.text, shards });
    },
  });
  const intakeOf = (source: FeedSource) => new Intake({ feed, source, maxShards, complaints });
  await lastGood.restore(intakeOf('state'));
  const volume = new Volume({ directory: snapshotDir, intake: intakeOf('volume'), complaints, pollMs });
  await volume.start();
  const shares = new SharesFeed({ directory: snapshotDir, take: gateway.takeShares, complaints, pollMs });
  await shares.start();
  let objects: Objects | undefined;
  return {
    follow(place) {
      shares.follow(place);
      objects ??= new Objects({ ...place, intake: intakeOf('api'), complaints });
      objects.start();
    },
    async close() {
      await Promise.all([volume.close(), shares.close(), objects?.close()]);
      await lastGood.idle();
    },
  };
}
