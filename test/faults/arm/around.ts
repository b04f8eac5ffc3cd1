import { comeBy } from './fault-orders.ts'

/** A point before the effect, and one after it but before the caller knows. */
export async function around<Value>(what: string, run: () => Promise<Value>): Promise<Value> {
  comeBy(`before ${what}`)
  const value = await run()
  comeBy(`after ${what}`)
  return value
}
