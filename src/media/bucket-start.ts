import { createHash } from 'node:crypto'
import type { Log } from '#host/log.ts'
import { type Bucket, BucketError } from './bucket.ts'
import { MediaUnusable } from './media-store.ts'

const probe = 'farebox'

/** Writes, reads and deletes a small object. Throws `MediaUnusable` with what to change. */
export async function checkBucket(bucket: Bucket, key: string): Promise<void> {
  try {
    await bucket.put(key, probe)
    const read = await bucket.ask({ method: 'GET', key })
    if ((await read.text()) !== probe) throw new BucketError('GET of the probe', { status: 200, code: 'OtherBytes' })
    await bucket.delete(key)
  } catch (error) {
    if (!(error instanceof BucketError)) throw error
    throw new MediaUnusable(...whyUnusable(bucket.place, error))
  }
}

/** Checks that the bucket accepts the key, without changing anything. Throws `MediaUnusable` with what to change. */
export async function lookAtBucket(bucket: Bucket, prefix: string): Promise<void> {
  try {
    for await (const _ of bucket.list(prefix, 1)) return
  } catch (error) {
    if (!(error instanceof BucketError)) throw error
    throw new MediaUnusable(...whyUnusable(bucket.place, error))
  }
}

function whyUnusable(place: string, { status, code, message }: BucketError): [fact: string, nextStep: string] {
  const answer = code ? `${status} ${code}` : `${status}`
  if (status === 0) {
    return [
      `The server of ${place} does not answer${code ? ` (${code})` : ''}.`,
      'Start it, or fix `media.s3.endpoint`.',
    ]
  }
  if (code === 'NoSuchBucket' || status === 404) {
    return [`There is no ${place.replace(/^the /, '')} (${answer}).`, 'Create it, or fix `media.s3.bucket`.']
  }
  if (status === 401 || status === 403) {
    return [
      `The server refuses the key for ${place} (${answer}).`,
      'Fix `media.s3.accessKey` and `secretKey`; the key must be allowed to write, read, list and delete objects.',
    ]
  }
  if (status >= 300 && status < 400) {
    return [`The server reports that ${place} is elsewhere (${answer}).`, 'Fix `media.s3.endpoint` and `region`.']
  }
  return [`Writing, reading and deleting a file failed in ${place}: ${message}`, 'Fix `media.s3`.']
}

/** The id by which a later start recognizes our rule. */
const ruleId = 'farebox-media'

/** In days. A running service deletes files after one day, so this is for a bucket whose service has stopped. */
const expiryDays = 2

const ruleOf = (prefix: string): string =>
  [
    `<Rule><ID>${ruleId}</ID><Filter><Prefix>${prefix}</Prefix></Filter><Status>Enabled</Status>`,
    `<Expiration><Days>${expiryDays}</Days></Expiration>`,
    '<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>',
  ].join('')

/**
 * Sets a lifecycle rule, so that the bucket expires our files, if it can and has no rules that ours would replace.
 * Otherwise nothing is lost, because the service deletes expired files itself.
 */
export async function setLifecycle(bucket: Bucket, prefix: string, log: Log): Promise<void> {
  try {
    const query = { lifecycle: '' }
    const asked = await bucket.ask({ method: 'GET', query, fine: [404] })
    const rules = await asked.text()
    if (rules.includes(`<ID>${ruleId}</ID>`)) return
    if (rules.includes('<Rule>')) {
      log.info({ bucket: bucket.place }, 'The bucket has lifecycle rules; they are left as they are.')
      return
    }
    const body = `<LifecycleConfiguration>${ruleOf(prefix)}</LifecycleConfiguration>`
    const headers = {
      'content-md5': createHash('md5').update(body).digest('base64'),
      'content-type': 'application/xml',
    }
    await (await bucket.ask({ method: 'PUT', query, body, headers })).arrayBuffer()
  } catch (error) {
    if (!(error instanceof BucketError)) throw error
    log.info(
      { bucket: bucket.place, status: error.status },
      'The bucket accepts no lifecycle rule, so only the service expires media.',
    )
  }
}
