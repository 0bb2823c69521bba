/**
 * The rows of the table of errors that gateway and operator both speak: what is wrong with a request itself, with its key, or
 * with the control plane. The whole table, these among them, is the gateway's.
 */
export type ErrorRow = readonly [status: number, type: string, fix: string];

export const SHARED_ERRORS = {
  invalid_json: [
    400,
    'invalid_request_error',
    'Send one JSON object, complete and without __proto__ or constructor.prototype keys.',
  ],
  too_deep: [400, 'invalid_request_error', 'Nest the body at most 64 levels deep.'],
  too_large: [400, 'invalid_request_error', 'Use at most 50,000 object keys in the body.'],
  invalid_value: [400, 'invalid_request_error', 'Correct the field or header that the message and `param` name.'],
  missing_field: [400, 'invalid_request_error', 'Add the field that the message and `param` name.'],
  bad_request: [400, 'invalid_request_error', 'Send well-formed HTTP/1.1.'],
  invalid_api_key: [401, 'authentication_error', 'Send a valid gateway key in x-gateway-api-key or as bearer.'],
  missing_scope: [403, 'permission_error', 'Use a key that has the scope which the message names.'],
  workspace_not_allowed: [
    403,
    'permission_error',
    'Use a key of that workspace, or an organisation key; what is about every workspace needs an organisation key.',
  ],
  rights_exceeded: [403, 'permission_error', 'Give no scope and no type of key that your own key does not have.'],
  unknown_path: [404, 'not_found_error', 'Check the path: the API begins with /v1.'],
  unknown_object: [404, 'not_found_error', 'Check the name or id, and that it is of the workspace of your key.'],
  method_not_allowed: [405, 'invalid_request_error', 'Use a method that the Allow header lists.'],
  owned_elsewhere: [
    409,
    'conflict_error',
    'Change the object where it is kept: by the tool, or in the file, that the message names.',
  ],
  conflict: [409, 'conflict_error', 'Somebody changed the object at the same moment: read it again, then try again.'],
  body_too_large: [413, 'invalid_request_error', 'Send at most 32 MiB of JSON, to the control plane 1 MiB.'],
  unsupported_media_type: [
    415,
    'invalid_request_error',
    'Send content-type: application/json without content-encoding.',
  ],
  internal: [500, 'server_error', 'A defect of the gateway: report it with the trace id.'],
  control_plane_unavailable: [
    503,
    'server_error',
    'The operator, or the API server behind it, does not answer: try again as retry-after says.',
  ],
  not_ready: [503, 'server_error', 'No configuration is loaded yet: try again in a moment.'],
} as const satisfies Record<string, ErrorRow>;

export type SharedErrorCode = keyof typeof SHARED_ERRORS;

/** The one envelope, as every OpenAI SDK reads it. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string | null;
    readonly param: string | null;
  };
  readonly provider?: string;
}
