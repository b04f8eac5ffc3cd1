import { z } from 'zod'

/** Faults that a list names before it stops looking; an answer repeats fewer. */
export const mostFaults = 100

const BoundedList = z.core.$constructor<z.ZodArray, z.core.$ZodArrayDef>('BoundedList', (list, def) => {
  z.ZodArray.init(list, def)
  const { parse } = list._zod
  list._zod.parse = (payload, context) => {
    const { value } = payload
    if (!Array.isArray(value)) return parse(payload, context)
    const items: unknown[] = []
    payload.value = items
    for (let index = 0; index < value.length && payload.issues.length < mostFaults; index++) {
      const item = def.element._zod.run({ value: value[index], issues: [] }, context)
      if (item instanceof Promise) throw new z.core.$ZodAsyncError()
      items.push(item.value)
      if (item.issues.length) payload.issues.push(...z.core.util.prefixIssues(index, item.issues))
    }
    return payload
  }
})

/**
 * An array of a request. It says what `z.array` says, but stops at its first faults: zod keeps an issue for each wrong
 * item, in each alternative of a union, so that a few megabytes of zeros would take seconds, or all memory.
 */
export const listOf = <Element extends z.ZodType>(element: Element): z.ZodArray<Element> =>
  new BoundedList({ type: 'array', element }) as unknown as z.ZodArray<Element>
