/** Names of an error and its causes, for a log: the words of a node's client hold its address and what was signed. */
export function failureWords(error: unknown): string {
  const names: string[] = []
  for (let each = error; each instanceof Error && names.length < namesAtMost; each = each.cause) names.push(each.name)
  return names.join(' < ') || typeof error
}

const namesAtMost = 6
