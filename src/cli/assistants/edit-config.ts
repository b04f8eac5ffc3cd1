import type { AssistantClient, Entry } from './clients.ts'

/** The entry of a client's configuration; undefined where there is none. Throws a `ConfigFault` for a text that cannot be read. */
export async function entryIn(client: AssistantClient, text: string): Promise<unknown> {
  if (client.format === 'TOML') return (await import('./edit-toml.ts')).tomlAt(text, client.keys)
  return (await import('./edit-json.ts')).jsonAt(text, client.keys)
}

/** The text with the entry, and every line of others as it is. */
export async function addEntry(
  client: AssistantClient,
  text: string,
  entry: Entry,
  { withInput }: { withInput: boolean },
): Promise<string> {
  if (client.format === 'TOML') return (await import('./edit-toml.ts')).putToml(text, client.keys, entry)
  const { addJsonItem, putJson } = await import('./edit-json.ts')
  const { input } = client
  return putJson(input && withInput ? addJsonItem(text, [input.list], input.item) : text, client.keys, entry)
}

/** The text without the entry, and every line of others as it is. */
export async function removeEntry(client: AssistantClient, text: string): Promise<string> {
  if (client.format === 'TOML') return (await import('./edit-toml.ts')).withoutToml(text, client.keys)
  const { withoutJson, withoutJsonItem } = await import('./edit-json.ts')
  const { input } = client
  const without = withoutJson(text, client.keys)
  return input ? withoutJsonItem(without, [input.list], input.item.id) : without
}

/**
 * The lines that change, as a user may see them on a screen that others see too. Values of other servers may be secrets:
 * in JSON dots stand in their place, and of TOML only lines of ours are shown.
 */
export async function shownChange(
  client: AssistantClient,
  before: string,
  after: (shown: string) => string | Promise<string>,
): Promise<string[]> {
  const { changedLines } = await import('./changed-lines.ts')
  if (client.format === 'TOML')
    return changedLines(before, await after(before), 0).map(line => withoutKeys(client, line))
  const shown = await withoutValues(client, before)
  return changedLines(shown, await after(shown), contextLines).map(line => withoutKeys(client, line))
}

/** A text without the values of other servers, where a change may show lines of them. */
export async function withoutValues({ format, keys }: AssistantClient, text: string): Promise<string> {
  return format === 'TOML' ? text : (await import('./edit-json.ts')).hideValues(text, keys)
}

/** So many lines around a change show where it stands. */
const contextLines = 2

/** A key that a user has written into our entry. */
const withoutKeys = ({ apiKey }: AssistantClient, line: string): string =>
  line.replace(namedLikeKey, (whole, name: string, value: string) => (value === apiKey ? whole : `${name}"…"`))

const namedLikeKey = /("?\w*(?:KEY|TOKEN|SECRET|PASSWORD|RPC_URL|JOURNAL_URL)\w*"?\s*[:=]\s*)"((?:[^"\\]|\\.)*)"/g
