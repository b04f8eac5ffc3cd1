import { stringify } from 'yaml'
import { describeApi, yamlOptions } from '#contract/openapi/openapi.ts'

/** Where `farebox up` serves by itself; a running service prints its own address. */
const serverUrl = 'http://127.0.0.1:8402/api/v1'

/** `openapi.yaml` at the root. */
export async function openApi(): Promise<string> {
  return stringify(describeApi({ serverUrl }), yamlOptions)
}
