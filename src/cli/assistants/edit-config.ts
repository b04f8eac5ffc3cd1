import type { AssistantClient, Entry } from './clients.ts'

/**
 * Returns the entry of a client's configuration; undefined if there is none. Throws a `ConfigFault` for unreadable
 * text.
 */
export async function entryIn(client: AssistantClient, text: string): Promise<unknown> {
  if (client.format === 'TOML') return (await import('./edit-toml.ts')).tomlAt(text, client.keys)
  return (await import('./edit-json.ts')).jsonAt(text, client.keys)
}

/** Returns the text with the entry, and every other line unchanged. */
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

/** Returns the text without the entry, and every other line unchanged. */
export async function removeEntry(client: AssistantClient, text: string): Promise<string> {
  if (client.format === 'TOML') return (await import('./edit-toml.ts')).withoutToml(text, client.keys)
  const { withoutJson, withoutJsonItem } = await import('./edit-json.ts')
  const { input } = client
  const without = withoutJson(text, client.keys)
  return input ? withoutJsonItem(without, [input.list], input.item.id) : without
}

/**
 * Returns the changed lines for a screen that others may see. Values of other servers may be secrets, so in JSON they
 * are replaced by dots, and in TOML only our own lines are shown.
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

/** Returns a text without other servers' values, if a change may show lines of them. */
export async function withoutValues({ format, keys }: AssistantClient, text: string): Promise<string> {
  return format === 'TOML' ? text : (await import('./edit-json.ts')).hideValues(text, keys)
}

/** How many lines to show around a change. */
const contextLines = 2

/** A user may have written a key into our entry. */
const withoutKeys = ({ apiKey }: AssistantClient, line: string): string =>
  line.replace(namedLikeKey, (whole, name: string, value: string) => (value === apiKey ? whole : `${name}"…"`))

const namedLikeKey = /("?\w*(?:KEY|TOKEN|SECRET|PASSWORD|RPC_URL|JOURNAL_URL)\w*"?\s*[:=]\s*)"((?:[^"\\]|\\.)*)"/g
