/** The model that a call asks for, by the newer name of the member or the older one; empty where it names none. */
export function askedModel(call: object): string {
  const { model, modelId } = (call as { body?: { model?: unknown; modelId?: unknown } }).body ?? {}
  const asked = model ?? modelId
  return typeof asked === 'string' ? asked : ''
}
