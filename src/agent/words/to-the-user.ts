/**
 * Turns our sentences for an assistant into sentences for its user, who called the tool in a terminal: "Ask the user to
 * check X" becomes "Check X". Only for our own sentences, never for untrusted text.
 */
export function toTheUser(said: string): string {
  const asked = said.replace(requests, (_, ask: string, request: string) => {
    const sentence = request.replace(nextPart, '$1 ').replaceAll('restart farebox', 'try again')
    return ask === 'Ask' ? `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}` : sentence
  })
  return rules.reduce((text, [from, to]) => text.replace(from, to), asked)
}

/** A sentence that asks for something from the user, up to its end. */
const requests = /\b([Aa]sk) the user to (.*?[.:](?=\s|$)|.*$)/gs

/** Where a sentence continues with another infinitive. */
const nextPart = /(; or|, or|, then|,| and) to (?=[a-z])/g

const rules: readonly (readonly [from: RegExp, to: string])[] = [
  [/\bTell the user, who can check it in (\w+)/g, 'Check it in $1'],
  [/\bThe assistant can continue: the/g, 'The'],
  [/ The assistant can continue\./g, ''],
  [/\btheir (own service|assistant)/g, 'your $1'],
  [/\bstart this server\b/g, 'run it again'],
  [/\bthis server\b/g, 'farebox'],
  [/\bThe user was\b/g, 'You were'],
  [/\bThe user has\b/g, 'You have'],
  [/\bthe user has\b/g, 'you have'],
  [/\bthe user unsets\b/g, 'you unset'],
  [/\bThe user’s\b/g, 'Your'],
  [/\bthe user’s\b/g, 'your'],
  [/\bThe user\b/g, 'You'],
  [/\bthe user\b/g, 'you'],
]
