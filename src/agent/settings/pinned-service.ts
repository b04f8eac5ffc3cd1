import { join } from 'node:path'
import { z } from 'zod'
import { parseJsonWithUniqueNames } from '#contract/wire/json.ts'
import { maxSettingsFileBytes } from '#wallet/limits.ts'
import { readPrivateFile, replacePrivateFile } from '#wallet/private-file.ts'
import { serviceOrigin, settingsRefusal } from '#wallet/rules/policy.ts'

/** Which service the wallet of a folder was made for. */
export const serviceFileName = 'service.json'

const ServiceFile = z.strictObject({ farebox: z.literal('service'), baseUrl: z.string() })

/** The service that `farebox wallet create --service` has named for a folder; null where it named none. Throws the wallet's refusal. */
export function pinnedService(folder: string): string | null {
  const path = join(folder, serviceFileName)
  const text = readPrivateFile(path, maxSettingsFileBytes, false)
  if (text === null) return null
  const json = parseJsonWithUniqueNames(text, 4)
  const file = ServiceFile.safeParse(json.ok ? json.value : undefined)
  if (!file.success) throw settingsRefusal(`${path} does not name a service`, 'Remove it, and set FAREBOX_BASE_URL.')
  serviceOrigin(file.data.baseUrl)
  return file.data.baseUrl
}

export const pinService = (folder: string, baseUrl: string): void =>
  replacePrivateFile(folder, serviceFileName, `${JSON.stringify({ farebox: 'service', baseUrl }, null, 2)}\n`)
