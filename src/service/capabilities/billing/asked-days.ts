import { fieldError } from '#contract/errors/issues.ts'
import { dayMs } from '#contract/time.ts'
import type { DayRange } from '../../http/service.ts'
import { analyticsDays } from './bounds.ts'

/** Which days are asked for: the last so many, today among them, or from one date to another. Throws 400. */
export function askedDays(
  { lookback, startDate, endDate }: { lookback: string; startDate?: string | undefined; endDate?: string | undefined },
  nowMs: number,
): DayRange {
  if (startDate === undefined && endDate === undefined) {
    const days = Number.parseInt(lookback, 10)
    if (days > analyticsDays) throw wrong('lookback', `At most ${analyticsDays}d`)
    const lastDayMs = nowMs - (nowMs % dayMs)
    return { lookback, firstDayMs: lastDayMs - (days - 1) * dayMs, lastDayMs }
  }
  const firstDayMs = dayOf('startDate', startDate, 'endDate')
  const lastDayMs = dayOf('endDate', endDate, 'startDate')
  if (lastDayMs < firstDayMs) throw wrong('endDate', 'Must not be before startDate')
  if (lastDayMs - firstDayMs >= analyticsDays * dayMs)
    throw wrong('endDate', `At most ${analyticsDays} days from startDate on`)
  return { lookback: `${startDate} to ${endDate}`, firstDayMs, lastDayMs }
}

function dayOf(field: string, date: string | undefined, other: string): number {
  if (date === undefined) throw wrong(field, `Field is required with ${other}`)
  const atMs = Date.parse(date)
  if (Number.isNaN(atMs) || !new Date(atMs).toISOString().startsWith(date)) throw wrong(field, 'Is no day: 2026-01-31')
  return atMs
}

const wrong = (field: string, message: string) => fieldError([field], message)
