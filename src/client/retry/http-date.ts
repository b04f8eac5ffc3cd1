import { date } from '#contract/wire/headers.ts'

/** The two older forms of RFC 9110 §5.6.7, which a recipient still has to know. */
const rfc850 = /^[A-Z][a-z]{5,8}, (\d\d)-([A-Z][a-z]{2})-(\d\d) (\d\d:\d\d:\d\d) GMT$/
const asctime = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})$/

/** An HTTP date as Unix time in milliseconds; null for everything else, whatever JavaScript would make of it. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  const older = rfc850.exec(text)
  if (older) {
    const [, day = '', month = '', year = '', time = ''] = older
    return read(day, month, fullYear(Number(year), nowMs), time)
  }
  const oldest = asctime.exec(text)
  if (oldest) {
    const [, month = '', day = '', time = '', year = ''] = oldest
    return read(day, month, Number(year), time)
  }
  return date.parse(text)
}

/** Two figures that would lie more than 50 years ahead are of the century before. */
function fullYear(twoFigures: number, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear()
  const year = now - (now % 100) + twoFigures
  return year > now + 50 ? year - 100 : year
}

function read(day: string, month: string, year: number, time: string): number | null {
  const atMs = Date.parse(`${day.trim()} ${month} ${year} ${time} GMT`)
  return Number.isNaN(atMs) ? null : atMs
}
