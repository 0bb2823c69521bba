/** A failure that a caller of the control plane is told about, in the words of the shared table. */
import { ApiError } from '#crds/api/api-error.ts';
import { type ErrorEnvelope, SHARED_ERRORS, type SharedErrorCode } from '#crds/http/shared-errors.ts';

export interface ControlErrorDetails {
  /** The field or query parameter at fault. */
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

const RETRY_AFTER_S = '2';

export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly code: SharedErrorCode;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: SharedErrorCode, message: string, { param, headers = {}, cause }: ControlErrorDetails = {}) {
    super(message, { cause });
    this.code = code;
    this.param = param;
    this.headers = headers;
  }

  get status(): number {
    return SHARED_ERRORS[this.code][0];
  }

  get envelope(): ErrorEnvelope {
    const { code, message, param = null } = this;
    return { error: { message, type: SHARED_ERRORS[code][1], code, param } };
  }
}

/** For as long as what the control plane needs does not answer. */
export function unavailable(message: string, cause?: unknown): ControlError {
  return new ControlError('control_plane_unavailable', message, { headers: { 'retry-after': RETRY_AFTER_S }, cause });
}

/** What an API server refused, as far as it was not looked for where it was asked. */
function ofApiServer(error: ApiError): ControlError {
  const { status, message } = error;
  if (status === 403) return new ControlError('workspace_not_allowed', `The API server refused it: ${message}`);
  if (status === 400 || status === 422)
    return new ControlError('invalid_value', `The API server refused it: ${message}`);
  return unavailable('The API server does not answer.', error);
}

/** Whatever was thrown; what nobody thought of is a defect: `internal`. */
export function asControlError(thrown: unknown): ControlError {
  if (thrown instanceof ControlError) return thrown;
  if (thrown instanceof ApiError) return ofApiServer(thrown);
  return new ControlError('internal', 'Something went wrong in the control plane.', { cause: thrown });
}
