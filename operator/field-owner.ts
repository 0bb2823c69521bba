/** Who owns the fields that the operator writes. */
export const FIELD_MANAGER = 'model-gateway-operator';
