/** Where the alerts of a cluster go: an Event of the object, and the webhook. */
import type { ApiObject } from '#crds/api/api-object.ts';
import type { EventRecorder } from '#crds/api/event-recorder.ts';
import { alertNote, type UsageAlert } from './alert.ts';
import type { AlertWebhook } from './alert-webhook.ts';
import type { BudgetState } from './budget-status.ts';

type Named = { readonly kind: string; readonly namespace: string; readonly name: string };

export interface AlertOutletsOptions {
  readonly recorder: EventRecorder;
  /** undefined: nobody wants to be asked. */
  readonly webhook: AlertWebhook | undefined;
  /** undefined: it is gone. */
  readonly stored: (object: Named) => ApiObject | undefined;
}

export class AlertOutlets {
  readonly #options: AlertOutletsOptions;

  constructor(options: AlertOutletsOptions) {
    this.#options = options;
  }

  /** Resolves when the webhook has taken it, or was given up. */
  readonly give = async (alert: UsageAlert): Promise<void> => {
    const { recorder, webhook, stored } = this.#options;
    const regarding = stored(alert.object);
    if (regarding !== undefined) {
      const { id } = alert;
      recorder.record({
        regarding,
        type: 'Warning',
        reason: 'UsageAlert',
        action: 'Count',
        note: alertNote(alert),
        id,
      });
    }
    await webhook?.post(alert);
  };

  readonly emailsOf = ({ record }: BudgetState): readonly string[] => emailsIn(this.#options.stored(record));
}

/** `alert_emails` of a spec that has them. */
export function emailsIn(object: Readonly<Record<string, unknown>> | undefined): readonly string[] {
  const { alert_emails: emails } = Object(object?.['spec']) as { alert_emails?: unknown };
  return Array.isArray(emails) ? emails.filter((email) => typeof email === 'string') : [];
}
