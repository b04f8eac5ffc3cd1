import { jsonOf } from '#contract/wire/json.ts'
import { PageRefusal } from './page-refusal.ts'

/**
 * Returns the JSON object in the body of a page's request. A form of another site cannot send this content type. Throws
 * `PageRefusal` for anything else.
 */
export async function readPageBody(request: Request, mostBytes: number): Promise<object> {
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? '')) throw noObject()
  const length = Number(request.headers.get('content-length') ?? Number.NaN)
  if (length > mostBytes) throw tooLong(mostBytes)
  const value = length <= mostBytes ? jsonOf(await request.text()) : null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw noObject()
  return value
}

const noObject = (): PageRefusal =>
  new PageRefusal(
    400,
    'The body of this request is not a JSON object.',
    'Reload the page. A program must send it as application/json, with its length.',
  )

const tooLong = (mostBytes: number): PageRefusal =>
  new PageRefusal(413, `This form is larger than ${mostBytes / 1_024} kB.`, 'Shorten what you entered, then try again.')
