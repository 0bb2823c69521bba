/** Every scope that a key can have, and what it allows. Endpoints name theirs; a key without scopes has `DEFAULT_SCOPE`. */

/** `<resource>.<action>` -> what it allows. */
export const SCOPES: ReadonlyMap<string, string> = new Map([
  ['completions.write', 'All inference: chat, completions, messages, embeddings and the other endpoints of models.'],
  ['models.list', 'Reading the list of models.'],
  ['prompts.render', 'Filling in a prompt and reading the result.'],
  ['feedback.create', 'Saying what an answer was worth.'],
  ['feedback.update', 'Saying it again in other words.'],
  ['cache.purge', 'Emptying the cache of a workspace.'],
  ['mcp.invoke', 'Calling the tools of MCP servers.'],
  ['agents.invoke', 'Calling agents.'],
  ['logs.list', 'Reading logs of requests.'],
  ['analytics.view', 'Reading analytics.'],
  ...changesOf('prompts', 'prompts, their versions, partials, labels and collections'),
  ...changesOf('policies', 'rate-limit and usage-limit policies'),
  ...keysOf('organisation_service_api_keys', 'service keys of the organisation'),
  ...keysOf('workspace_service_api_keys', 'service keys of a workspace'),
  ...keysOf('workspace_user_api_keys', 'keys of users of a workspace'),
]);

/** What a key without scopes may do. */
export const DEFAULT_SCOPE = 'completions.write';

type Row = readonly [scope: string, allows: string];

function changesOf(resource: string, what: string): readonly Row[] {
  return [
    [`${resource}.create`, `Creating ${what}.`],
    [`${resource}.read`, `Reading one of the ${what}.`],
    [`${resource}.list`, `Listing ${what}.`],
    [`${resource}.update`, `Changing ${what}.`],
    [`${resource}.delete`, `Deleting ${what}.`],
  ];
}

function keysOf(resource: string, what: string): readonly Row[] {
  return [...changesOf(resource, what), [`${resource}.rotate`, `Replacing ${what} by new ones.`]];
}
