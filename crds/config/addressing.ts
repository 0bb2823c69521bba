/** Where a target's requests go, and with which credential. */
import { freeObject, httpUrl, MAX_ITEMS, text } from './values.ts';
import { z } from './words.ts';

const credential = (description: string) => text(8192, description).optional();
const word = (description: string) => text(253, description).optional();

const deploymentSchema = z.strictObject({
  deployment_id: text(253, 'Id of the deployment.'),
  alias: text(253, 'Model name that leads to this deployment.'),
  api_version: text(64, 'Version of its API.'),
  is_default: z.boolean().meta({ description: 'Takes models that no alias names.', absent: false }).optional(),
});

/** Addressing fields of the config object: no secrets. An Integration's `configurations` has the same. */
export const addressingFields = {
  custom_host: httpUrl('Base URL of a privately hosted model, with the version path.').optional(),
  resource_name: word('Name of the resource that holds the deployments.'),
  deployment_id: word('Id of the deployment.'),
  api_version: text(64, 'Version of the API of the deployment.').optional(),
  deployments: z
    .array(deploymentSchema)
    .max(MAX_ITEMS)
    .describe('Several deployments, by the model that they serve.')
    .optional(),
  cloud1_region: word('Region of the first cloud provider.'),
  vendor_organization: word('Organisation at the model vendor.'),
  vendor_project: word('Project at the model vendor.'),
  cloud2_project_id: word('Project at the second cloud provider.'),
  cloud2_region: word('Region of the second cloud provider.'),
  cloud3_region: word('Region of the third cloud provider.'),
  cloud3_deployment_name: word('Deployment at the third cloud provider.'),
  cloud3_deployment_type: z
    .enum(['serverless', 'managed'])
    .describe('Kind of the deployment at the third cloud provider.')
    .optional(),
  cloud3_endpoint_name: word('Endpoint at the third cloud provider.'),
  cloud3_api_version: text(64, 'Version of the API at the third cloud provider.').optional(),
  cloud3_entra_scope: text(1024, 'Authentication scope at the identity provider of the third cloud.').optional(),
};

/** The fields that are secrets. They travel apart from the rest, and are never printed. */
export const credentialFields = {
  api_key: credential('The provider\'s key. Better: an Integration with a Secret, and provider: "@name".'),
  cloud1_access_key_id: credential('Access key id of the first cloud provider.'),
  cloud1_secret_access_key: credential('Secret access key of the first cloud provider.'),
  cloud1_session_token: credential('Session token of the first cloud provider.'),
  cloud2_service_account_json: freeObject('Service account of the second cloud provider.').optional(),
};

/** Names of the fields that are secrets. */
export const CREDENTIAL_FIELDS = Object.keys(credentialFields) as readonly (keyof typeof credentialFields)[];
export type CredentialField = keyof typeof credentialFields;
