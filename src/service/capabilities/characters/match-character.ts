import type { CharacterSearch, ListedCharacter } from './characters.ts'

/** Every filter that was given must fit; of several names of one filter, one of them. */
export function matches({ character, record }: ListedCharacter, search: CharacterSearch): boolean {
  // This service has no models that a plan of their own opens, so no character uses one.
  if (search.isPro) return false
  if (search.isAdult !== undefined && record.adult !== search.isAdult) return false
  if (search.isWebEnabled !== undefined && record.webEnabled !== search.isWebEnabled) return false
  return (
    hasOne(record.tags, search.tags) &&
    hasOne(character.categories ?? [], search.categories) &&
    hasOne([record.modelId], search.modelId) &&
    isFound(record, search.search ?? '')
  )
}

const hasOne = (names: readonly string[], wanted: readonly string[] | undefined): boolean =>
  !wanted?.length || names.some(name => wanted.some(each => each.toLowerCase() === name.toLowerCase()))

/** Words anywhere in name, description or tags; with `#` a tag and nothing else. */
function isFound({ name, description, tags }: ListedCharacter['record'], search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const plainTags = tags.map(tag => tag.toLowerCase())
  const text = [name, description ?? '', ...tags].join('\n').toLowerCase()
  return words.every(word => (word.startsWith('#') ? plainTags.includes(word.slice(1)) : text.includes(word)))
}
