import { z } from 'zod'

/** As a request has it: there, left out, or with a value of its own. */
type Member<Bounded extends z.ZodType> = Bounded | z.ZodOptional<Bounded> | z.ZodDefault<Bounded>

/**
 * Arguments whose bounds a call is checked against and the listing does not show: every assistant pays for each word of
 * it, and a wrong value is answered by its bounds. Those are the contract's own, where it has some.
 */
export const plainText = (member: Member<z.ZodString>) => z.string().pipe(boundsOf(member))

export const plainNumber = (member: Member<z.ZodNumber>) => z.number().pipe(boundsOf(member))

const boundsOf = <Bounded extends z.ZodType>(member: Member<Bounded>): Bounded =>
  member instanceof z.ZodOptional || member instanceof z.ZodDefault ? member.unwrap() : member
