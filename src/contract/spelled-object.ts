import { z } from 'zod'
import { nearNames } from './near-names.ts'

/** Strange members that are looked at, and how much of a name: a body may have thousands. */
const comparedMembers = 100
const comparedCharacters = 64

/**
 * An object that takes members which nobody here knows (brief §1.4), but none that is nearly called as one that is known:
 * a misspelt limit of a key, passed over in silence, would be a key without it. The refusal names what was meant.
 */
export const spelledObject = <Shape extends z.ZodRawShape>(shape: Shape) => {
  const known = Object.keys(shape)
  return z.looseObject(shape).check(({ value, issues }) => {
    const strange = Object.keys(value).filter(name => !Object.hasOwn(shape, name))
    for (const name of strange.slice(0, comparedMembers)) {
      const near = nearNames(name.slice(0, comparedCharacters), known, 2)
      if (near.length === 0) continue
      const message = `There is no such member; did you mean ${near.join(' or ')}?`
      issues.push({ code: 'custom', message, path: [name], input: value })
    }
  })
}
