/** A text of at most so many characters; a longer one ends after a whole word, with a mark that says so. */
export function shortened(text: string, mostCharacters: number): string {
  if (text.length <= mostCharacters) return text
  const room = text.slice(0, mostCharacters - 1)
  const isBetweenWords = /\s/.test(text.charAt(room.length))
  const whole = isBetweenWords ? room : room.replace(/\S+$/, '')
  // One word that is longer than the room has no end to stop at.
  return `${(whole.trim() ? whole : room).trimEnd().toWellFormed()}…`
}
