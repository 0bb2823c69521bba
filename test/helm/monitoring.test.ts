/** Alerts and dashboard ask for metrics that there are, by labels that they have. */
import { beforeAll, describe, expect, it } from 'vitest';
import { PANELS } from '#crds/chart/dashboard.ts';
import { createMetrics } from '#gateway/telemetry/metrics.ts';
import { OperatorMetrics } from '#operator/telemetry/metrics.ts';
import { anAttempt, anExchange } from '../gateway/telemetry/settled-exchange.ts';
import { object, pass } from '../operator/telemetry/passes.ts';
import { describeHelm } from './describe-helm.ts';
import { render } from './helm.ts';
import { at, ofKind, only } from './manifest.ts';
import { MATRIX } from './matrix.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What a scrape adds to every series. */
const OF_SCRAPE = ['namespace', 'pod', 'job'];
const OBJECTS = render(MATRIX.everything);
const ALERTS = OBJECTS.filter(({ kind }) => kind === 'PrometheusRule').flatMap(
  (rule) => at<Alert[]>(rule, 'spec.groups.0.rules') ?? [],
);
const QUERIES = PANELS.flatMap(({ title, queries }) => queries.map(([query]) => [title, query] as const));

/** What a gateway tells that has served all kinds of requests. */
async function gatewayText(): Promise<string> {
  const metrics = createMetrics({
    breakers: () => [{ key: 'team-a/chat targets[0]', state: 'open' }],
    config: () => ({ generation: 1, loadedAtMs: Date.now() }),
    refused: () => 1,
    droppedLogLines: () => 1,
  });
  for (const over of [
    {},
    { stream: true },
    { stream: true, streamFailed: true },
    { attempts: [anAttempt(), anAttempt({ retry: 1 })] },
  ]) {
    metrics.begin();
    metrics.settle(anExchange(over));
  }
  return metrics.text();
}

/** What an operator tells to which everything has happened. */
function operatorText(): Promise<string> {
  const metrics = new OperatorMetrics('all-on-operator');
  metrics.follow({
    isLeader: () => true,
    replicas: () => [],
    statusCounts: () => ({ writes: 1, failures: 1, depth: 1, adds: 1, retries: 1 }),
    usageCounts: () => ({ alerts: 1, limited: 1, exhausted: 1 }),
  });
  metrics.pass(pass([object('a', 'unpublished')], { writeFailures: ['Secret a/b: refused'] }));
  metrics.fault(new Error('a list failed'));
  return metrics.text();
}

/** Labels of every series, by the name of the metric. */
async function labelsByMetric(): Promise<Map<string, Set<string>>> {
  const text = `${await gatewayText()}\n${await operatorText()}`;
  const found = new Map<string, Set<string>>();
  for (const line of text.split('\n').filter((row) => row !== '' && !row.startsWith('#'))) {
    const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    found.set(name, new Set([...labels.matchAll(/(\w+)="/g)].map(([, label]) => label ?? '')));
  }
  return found;
}

/** Every metric of an expression, with the labels that it is asked by. */
function selectorsOf(expression: string): (readonly [metric: string, labels: readonly string[]])[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  return [...expression.matchAll(/(\w+)\{([^}]*)\}/g)].map(
    ([, metric = '', matchers = '']) =>
      [metric, [...grouped, ...[...matchers.matchAll(/(\w+)[=!]~?"/g)].map(([, label]) => label ?? '')]] as const,
  );
}

describe('what is asked for', () => {
  let known: Map<string, Set<string>>;
  beforeAll(async () => {
    known = await labelsByMetric();
  });

  const check = (expression: string) => {
    const selectors = selectorsOf(expression);
    expect(selectors.length).toBeGreaterThan(0);
    for (const [metric, labels] of selectors) {
      const of = known.get(metric);
      expect(of, metric).toBeDefined();
      expect(
        labels.filter((label) => !of?.has(label) && !OF_SCRAPE.includes(label)),
        metric,
      ).toEqual([]);
    }
  };

  it('has the labels of a scrape besides', () => expect(known.size).toBeGreaterThan(30));

  it.each(QUERIES)('panel %s: %s', (_title, query) => check(query));

  it.each(ALERTS.map(({ alert, expr }) => [alert, expr] as const))('alert %s', (_alert, expr) => check(expr));

  it.each([...QUERIES.map(([, query]) => query), ...ALERTS.map(({ expr }) => expr)])(
    'opens and closes alike in %s',
    (text) => {
      for (const [open = '', close = ''] of ['()', '{}', '[]']) {
        expect(text.split(open).length).toBe(text.split(close).length);
      }
      expect(text.split('"').length % 2).toBe(1);
    },
  );
});

describeHelm('alerts', () => {
  it('are there', () => expect(ALERTS.length).toBeGreaterThanOrEqual(10));

  it.each(ALERTS.map((alert) => [alert.alert, alert] as const))('%s says what is the matter', (name, alert) => {
    expect(name).toMatch(/^ModelGateway[A-Z]/);
    expect(alert.labels.severity).toMatch(/^(?:critical|warning)$/);
    expect(alert.annotations.summary).toMatch(/\.$/);
    expect(alert.annotations.description?.length).toBeGreaterThan(5);
  });

  it('look at this release alone, by the job of its PodMonitor', () => {
    const jobs = ofKind(OBJECTS, 'PodMonitor').map(({ metadata }) => `job="${metadata.namespace}/${metadata.name}"`);
    expect(jobs).toEqual(['job="platform/all-on-gateway"', 'job="platform/all-on-operator"']);
    for (const selector of ALERTS.flatMap(({ expr }) => expr.match(/\{[^}]*\}/g) ?? [])) {
      expect(jobs.filter((job) => selector.includes(job))).toHaveLength(1);
    }
  });

  it('leave the templates of Prometheus to Prometheus', () => {
    const summaries = ALERTS.map(({ annotations }) => annotations.summary).join('\n');
    expect(summaries).toContain('{{ $value | humanizePercentage }}');
    expect(summaries).toContain('{{ $labels.provider }}');
  });
});

describeHelm('monitors', () => {
  it.each(['gateway', 'operator'])('read the metrics of the %s at its admin port', (component) => {
    const monitor = only(OBJECTS, 'PodMonitor', `all-on-${component}`);
    expect(at(monitor, 'spec.podMetricsEndpoints')).toEqual([{ port: 'admin', path: '/metrics', interval: '15s' }]);
    expect(monitor.metadata.labels).toMatchObject({ release: 'prometheus' });
  });

  it('are not there unless they are asked for', () => {
    const kinds = new Set(render(MATRIX.defaults).map(({ apiVersion }) => apiVersion));
    expect([...kinds].filter((version) => version.startsWith('monitoring'))).toEqual([]);
    expect(ofKind(render(MATRIX.defaults), 'ConfigMap')).toEqual([]);
  });
});

describeHelm('the dashboard', () => {
  const [map] = ofKind(OBJECTS, 'ConfigMap');
  const [file, text] = Object.entries(at<Record<string, string>>(map, 'data') ?? {})[0] ?? [];
  const dashboard = JSON.parse(text ?? '{}') as Record<string, unknown>;

  it('is found by the sidecar, under a name that no other release has', () => {
    expect(map?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(file).toBe('platform-all-on.json');
  });

  it('has every panel, none over another', () => {
    const panels = at<{ title: string; id: number; gridPos: Record<string, number> }[]>(dashboard, 'panels') ?? [];
    expect(panels.map(({ title }) => title)).toEqual(PANELS.map(({ title }) => title));
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ gridPos }) => `${gridPos.x} ${gridPos.y}`)).size).toBe(panels.length);
    for (const { gridPos } of panels) expect((gridPos.x ?? 0) + (gridPos.w ?? 0)).toBeLessThanOrEqual(24);
  });

  it('declares the variables that its panels use', () => {
    const names = at<{ name: string }[]>(dashboard, 'templating.list')?.map(({ name }) => name) ?? [];
    const used = [...(text ?? '').matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name);
    expect(used.length).toBeGreaterThan(10);
    expect([...new Set(used)].sort()).toEqual([...names].sort());
  });
});
