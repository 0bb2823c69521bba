/** The Grafana dashboard of the chart: a table of panels over the gateway's metrics. */

type Unit = 'reqps' | 's' | 'short' | 'percentunit' | 'bytes' | 'none';

export interface Panel {
  readonly title: string;
  readonly unit: Unit;
  /** Expression and the legend of its series. */
  readonly queries: readonly (readonly [expression: string, legend: string])[];
}

/** Pods of the gateways that the variables choose. */
const SELECTOR = 'namespace=~"$namespace",pod=~"$pod"';
const METRICS = `{${SELECTOR}}`;
/** Operators of the same namespaces; only their own metrics are asked for, other controllers have the others too. */
const OPERATORS = 'namespace=~"$namespace"';

/** Rate per second of a counter, by labels. */
function rate(metric: string, by: string, filter = '', selector = SELECTOR): string {
  return `sum by (${by}) (rate(${metric}{${selector}${filter}}[$__rate_interval]))`;
}

function quantile(share: number, metric: string, by = 'le', selector = SELECTOR): string {
  return `histogram_quantile(${share}, ${rate(`${metric}_bucket`, by, '', selector)})`;
}

function quantiles(metric: string, selector = SELECTOR): Panel['queries'] {
  return [0.5, 0.9, 0.99].map((share) => [quantile(share, metric, 'le', selector), `p${share * 100}`] as const);
}

export const PANELS: readonly Panel[] = [
  { title: 'Requests', unit: 'reqps', queries: [[rate('modelgateway_requests_total', 'status'), '{{status}}']] },
  {
    title: 'Errors by code',
    unit: 'reqps',
    queries: [[rate('modelgateway_requests_total', 'code', ',code!="none"'), '{{code}}']],
  },
  {
    title: 'Requests in flight',
    unit: 'short',
    queries: [[`sum by (pod) (modelgateway_requests_in_flight${METRICS})`, '{{pod}}']],
  },
  { title: 'Time to the first byte', unit: 's', queries: quantiles('modelgateway_first_byte_seconds') },
  { title: 'Duration of requests', unit: 's', queries: quantiles('modelgateway_request_duration_seconds') },
  {
    title: 'Duration of calls by provider, p90',
    unit: 's',
    queries: [
      [
        quantile(0.9, 'gen_ai_client_operation_duration_seconds', 'le, gen_ai_provider_name'),
        '{{gen_ai_provider_name}}',
      ],
    ],
  },
  {
    title: 'Calls of providers',
    unit: 'reqps',
    queries: [[rate('modelgateway_attempts_total', 'provider, status'), '{{provider}} {{status}}']],
  },
  {
    title: 'Retries by provider',
    unit: 'reqps',
    queries: [[rate('modelgateway_retries_total', 'provider'), '{{provider}}']],
  },
  {
    title: 'Streams that failed',
    unit: 'reqps',
    queries: [[rate('modelgateway_stream_failures_total', 'provider, reason'), '{{provider}} {{reason}}']],
  },
  { title: 'Tokens', unit: 'short', queries: [[rate('modelgateway_tokens_total', 'type'), '{{type}}']] },
  {
    title: 'Tokens by model',
    unit: 'short',
    queries: [[rate('modelgateway_tokens_total', 'model', ',type=~"input|output"'), '{{model}}']],
  },
  {
    title: 'Time per output token, p90',
    unit: 's',
    queries: [
      [
        quantile(0.9, 'gen_ai_server_time_per_output_token_seconds', 'le, gen_ai_response_model'),
        '{{gen_ai_response_model}}',
      ],
    ],
  },
  {
    title: 'Breakers that are not closed',
    unit: 'none',
    queries: [[`max by (target) (modelgateway_breaker_state${METRICS}) > 0`, '{{target}}']],
  },
  {
    title: 'Generation served',
    unit: 'none',
    queries: [[`modelgateway_config_generation${METRICS}`, '{{pod}}']],
  },
  {
    title: 'Snapshots refused, log lines lost',
    unit: 'short',
    queries: [
      [`sum by (pod) (increase(modelgateway_config_refused_total${METRICS}[$__rate_interval]))`, 'refused {{pod}}'],
      [`sum by (pod) (increase(modelgateway_log_lines_dropped_total${METRICS}[$__rate_interval]))`, 'lost {{pod}}'],
    ],
  },
  {
    title: 'CPU',
    unit: 'percentunit',
    queries: [[`rate(process_cpu_seconds_total${METRICS}[$__rate_interval])`, '{{pod}}']],
  },
  { title: 'Memory', unit: 'bytes', queries: [[`process_resident_memory_bytes${METRICS}`, '{{pod}}']] },
  { title: 'Event loop lag, p99', unit: 's', queries: [[`nodejs_eventloop_lag_p99_seconds${METRICS}`, '{{pod}}']] },
  {
    title: 'Custom resources',
    unit: 'none',
    queries: [
      [`max by (kind, accepted) (modelgateway_operator_objects{${OPERATORS}})`, '{{kind}} accepted: {{accepted}}'],
    ],
  },
  {
    title: 'Gateways by what they serve',
    unit: 'none',
    queries: [[`max by (state) (modelgateway_operator_replicas{${OPERATORS}})`, '{{state}}']],
  },
  {
    title: 'From a change to its being served everywhere',
    unit: 's',
    queries: quantiles('modelgateway_operator_apply_to_programmed_seconds', OPERATORS),
  },
  {
    title: 'Failures of the operator',
    unit: 'reqps',
    queries: [[rate('modelgateway_operator_faults_total', 'reason', '', OPERATORS), '{{reason}}']],
  },
  {
    title: 'Writes of statuses',
    unit: 'reqps',
    queries: [[rate('modelgateway_operator_status_writes_total', 'result', '', OPERATORS), '{{result}}']],
  },
];

const COLUMNS = 3;
const WIDTH = 8;
const HEIGHT = 8;
const datasource = { type: 'prometheus', uid: '$datasource' };

function panelJson({ title, unit, queries }: Panel, at: number): unknown {
  return {
    id: at + 1,
    type: 'timeseries',
    title,
    datasource,
    gridPos: { x: (at % COLUMNS) * WIDTH, y: Math.floor(at / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: 'never' } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: queries.map(([expr, legendFormat], query) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + query),
      datasource,
      expr,
      legendFormat,
    })),
  };
}

function variable(name: string, label: string, expression: string): unknown {
  return {
    name,
    label,
    type: 'query',
    datasource,
    query: { query: expression, refId: name },
    definition: expression,
    refresh: 2,
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  };
}

/** JSON text that Grafana imports. */
export function dashboardJson(): string {
  const source = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', current: {} };
  const dashboard = {
    title: 'Model gateway',
    uid: 'model-gateway',
    tags: ['model-gateway'],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        source,
        variable('namespace', 'Namespace', 'label_values(modelgateway_requests_in_flight, namespace)'),
        variable('pod', 'Pod', 'label_values(modelgateway_requests_in_flight{namespace=~"$namespace"}, pod)'),
      ],
    },
    panels: PANELS.map(panelJson),
  };
  return `${JSON.stringify(dashboard, null, 1)}\n`;
}
