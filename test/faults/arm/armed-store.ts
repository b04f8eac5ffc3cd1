import type { Store } from '#ledger/store/store.ts'
import type { Op, Unit } from '#ledger/store/units.ts'
import { comeBy, isDueAt, killNow } from './fault-orders.ts'

/** Commits by their contents: before, while they are in flight, and after they are durable but before the caller knows. */
export function armedStore<Real extends Store>(store: Real): Real {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (name === 'commit') return (units: readonly Unit[]) => commit(target, units)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function commit(store: Store, units: readonly Unit[]) {
  const names = new Set(units.flatMap(({ ops }) => ops.map(commitName)))
  for (const name of names) comeBy(`before ${name}`)
  const isCut = [...names].filter(name => isDueAt(`during ${name}`)).length > 0
  const outcomes = store.commit(units)
  // The batch leaves for its thread, or for the database, in the next turn.
  if (isCut) setImmediate(() => setImmediate(killNow))
  const done = await outcomes
  for (const name of names) comeBy(`after ${name}`)
  return done
}

/** What a commit is for, as points name it: `capture`, `payment credited`. */
export function commitName(op: Op): string {
  if (op.op === 'job' || op.op === 'payment' || op.op === 'claim') return `${op.op} ${op.to}`
  return op.op
}
