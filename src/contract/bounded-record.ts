import { z } from 'zod'

/** Members of a record of a request; real ones have a handful. */
export const mostMembers = 100

const BoundedRecord = z.core.$constructor<z.ZodRecord, z.core.$ZodRecordDef>('BoundedRecord', (record, def) => {
  z.ZodRecord.init(record, def)
  const { parse } = record._zod
  record._zod.parse = (payload, context) => {
    const { value } = payload
    const isTooLarge = typeof value === 'object' && value !== null && Object.keys(value).length > mostMembers
    if (!isTooLarge) return parse(payload, context)
    const message = `Must have ${mostMembers} members at most`
    payload.issues.push({ code: 'custom', message, input: value, inst: record })
    return payload
  }
})

/** A record of a request, by any names: as `z.record`, but a large one is one fault, whatever is in it. */
export const recordOf = <Value extends z.ZodType>(value: Value): z.ZodRecord<z.ZodString, Value> =>
  new BoundedRecord({ type: 'record', keyType: z.string(), valueType: value }) as unknown as z.ZodRecord<
    z.ZodString,
    Value
  >
