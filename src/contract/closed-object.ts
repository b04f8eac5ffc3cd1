import { z } from 'zod'

/** Names of a refusal; an object with thousands of strange members gets the first of them, each as far as one is looked at. */
const namedMembers = 5
const namedCharacters = 64

/** An object that takes no other member, for where one that was ignored would be a limit that does not hold. */
export const closedObject = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: issue =>
      issue.code === 'unrecognized_keys' ? refusal(issue.keys as string[], Object.keys(shape)) : undefined,
  })

const refusal = (strange: readonly string[], known: readonly string[]): string =>
  `Not taken here: ${strange
    .slice(0, namedMembers)
    .map(name => name.slice(0, namedCharacters))
    .join(', ')}. Allowed members: ${known.join(', ')}`
