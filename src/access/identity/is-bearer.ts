import { timingSafeEqual } from 'node:crypto'

/** Whether a header is `Bearer` and this token, without telling by its time how much of it is. */
export function isBearer(header: string | null | undefined, token: string): boolean {
  const given = Buffer.from(header ?? '')
  const expected = Buffer.from(`Bearer ${token}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
