import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import type { BucketOptions } from './media-options.ts'

/** A bucket's error, or no answer; then `status` is 0. */
export class BucketError extends Error {
  readonly status: number
  /** The bucket's code, such as `NoSuchBucket`, or Node's if it did not answer, such as `ECONNREFUSED`. */
  readonly code: string

  constructor(what: string, { status, code }: { status: number; code: string }) {
    super(`A request to the bucket failed (${what}): ${status || 'no answer'}${code ? ` ${code}` : ''}.`)
    this.name = 'BucketError'
    this.status = status
    this.code = code
  }
}

export interface BucketObject {
  key: string
  bytes: number
  modifiedAtMs: number
}

interface Asked {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** If absent, the request is for the bucket itself. */
  key?: string
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array<ArrayBuffer> | string
  signal?: AbortSignal
  /** Accepted statuses in addition to 2xx. */
  fine?: readonly number[]
  /** Runs before each repeat of a request that leaves something behind if its answer is lost. */
  beforeRepeat?: () => Promise<void>
}

/**
 * One bucket over the S3 protocol. Requests are signed, and retried a few times if the server does not answer or fails.
 */
export class Bucket {
  readonly #options: BucketOptions

  constructor(options: BucketOptions) {
    this.#options = options
  }

  /** `bucket at host`, for messages. */
  get place(): string {
    return `the bucket ${this.#options.bucket} at ${new URL(this.#options.endpoint).host}`
  }

  /**
   * Returns the answer with an unread body. A request can be repeated, because it writes the same bytes to the same
   * name. A request that begins something new has a `beforeRepeat`.
   */
  async ask(asked: Asked): Promise<Response> {
    for (let attempt = 1, waitMs = retryMs; ; attempt++, waitMs = Math.min(waitMs * 2, retryMostMs)) {
      try {
        const response = await this.#once(asked)
        if (response.ok || asked.fine?.includes(response.status)) return response
        throw await errorOf(asked, response)
      } catch (error) {
        asked.signal?.throwIfAborted()
        if (!(error instanceof BucketError) || !isTransient(error) || attempt >= attempts) throw error
      }
      await sleep(waitMs, undefined, asked.signal ? { signal: asked.signal } : {})
      await asked.beforeRepeat?.()
    }
  }

  async put(key: string, body: Uint8Array<ArrayBuffer> | string, { mimeType, signal }: PutOptions = {}): Promise<void> {
    await drained(this.ask({ method: 'PUT', key, body, headers: typed(mimeType), ...(signal ? { signal } : {}) }))
  }

  /** Null if the object does not exist. */
  async head(key: string, signal?: AbortSignal): Promise<{ bytes: number; etag: string } | null> {
    const response = await this.ask({ method: 'HEAD', key, fine: [404], ...(signal ? { signal } : {}) })
    if (response.status === 404) return null
    return { bytes: Number(response.headers.get('content-length')), etag: response.headers.get('etag') ?? '' }
  }

  async delete(key: string): Promise<void> {
    await drained(this.ask({ method: 'DELETE', key, fine: [404] }))
  }

  /** Lists all objects with a prefix, page by page, up to `pages`. */
  async *list(prefix: string, pages: number): AsyncGenerator<BucketObject[]> {
    let token = ''
    for (let page = 0; page < pages; page++) {
      const query = { 'list-type': '2', prefix, ...(token ? { 'continuation-token': token } : {}) }
      const text = await (await this.ask({ method: 'GET', query })).text()
      yield elements(text, 'Contents').map(each => ({
        key: element(each, 'Key'),
        bytes: Number(element(each, 'Size')),
        modifiedAtMs: Date.parse(element(each, 'LastModified')),
      }))
      token = element(text, 'NextContinuationToken')
      if (!token) return
    }
  }

  /** Lists unfinished multipart uploads of objects with a prefix; the first thousand. */
  async uploads(prefix: string, signal?: AbortSignal): Promise<{ key: string; id: string; atMs: number }[]> {
    const asked = { method: 'GET' as const, query: { uploads: '', prefix } }
    const text = await (await this.ask({ ...asked, ...(signal ? { signal } : {}) })).text()
    return elements(text, 'Upload').map(each => ({
      key: element(each, 'Key'),
      id: element(each, 'UploadId'),
      atMs: Date.parse(element(each, 'Initiated')),
    }))
  }

  /**
   * Returns the id of a new upload. An upload whose answer was lost has an unknown id, so it is found and
   * aborted before the next attempt. Only one process may upload a key at a time.
   */
  async beginUpload(key: string, { mimeType, signal }: PutOptions): Promise<string> {
    const beforeRepeat = () => this.abortUploads(key, signal)
    const asked = { method: 'POST' as const, key, query: { uploads: '' }, headers: typed(mimeType), beforeRepeat }
    const id = element(await (await this.ask({ ...asked, ...(signal ? { signal } : {}) })).text(), 'UploadId')
    if (!id) throw new BucketError('beginning an upload', { status: 200, code: 'NoUploadId' })
    return id
  }

  /** Returns the part's tag, which is needed to end the upload. */
  async putPart(
    key: string,
    part: { id: string; number: number; body: Uint8Array<ArrayBuffer>; signal?: AbortSignal },
  ) {
    const { id, number, body, signal } = part
    const query = { partNumber: `${number}`, uploadId: id }
    const response = await this.ask({ method: 'PUT', key, query, body, ...(signal ? { signal } : {}) })
    await response.arrayBuffer()
    return response.headers.get('etag') ?? ''
  }

  /** Some servers send a 200 early and report a failure in its body. */
  async endUpload(key: string, { id, tags, signal }: { id: string; tags: readonly string[]; signal?: AbortSignal }) {
    const parts = tags.map((tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag}</ETag></Part>`)
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
    const asked = { method: 'POST' as const, key, query: { uploadId: id }, body, ...(signal ? { signal } : {}) }
    const text = await (await this.ask(asked)).text()
    const code = text.includes('<Error>') ? element(text, 'Code') : ''
    if (code) throw new BucketError('ending an upload', { status: 500, code })
  }

  async abortUpload(key: string, id: string): Promise<void> {
    await drained(this.ask({ method: 'DELETE', key, query: { uploadId: id }, fine: [404] }))
  }

  /** Aborts every unfinished upload of this key. */
  async abortUploads(key: string, signal?: AbortSignal): Promise<void> {
    for (const left of await this.uploads(key, signal)) await this.abortUpload(left.key, left.id)
  }

  /** An address at which anyone can read the object for this many seconds. */
  async presigned(key: string, { endpoint, seconds, query }: PresignOptions): Promise<string> {
    const { accessKey, secretKey, region } = this.#options
    const url = this.#url({ key, query: { ...query, 'X-Amz-Expires': `${seconds}` } }, endpoint)
    const keys = { accessKeyId: accessKey, secretAccessKey: secretKey, region, service: 's3' }
    const signed = await new AwsV4Signer({ url, method: 'GET', signQuery: true, ...keys }).sign()
    return signed.url.href
  }

  #url({ key, query = {} }: Pick<Asked, 'key' | 'query'>, endpoint = this.#options.endpoint): string {
    const path = key === undefined ? '' : `/${key.split('/').map(encodeURIComponent).join('/')}`
    const url = new URL(`${endpoint.replace(/\/+$/, '')}/${this.#options.bucket}${path}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return url.href
  }

  async #once(asked: Asked): Promise<Response> {
    const { method, body, headers = {}, signal } = asked
    const { accessKey, secretKey, region, requestMs: waitMs = requestMs } = this.#options
    // The server compares the body with this hash, which is signed.
    const hash = createHash('sha256')
      .update(body ?? '')
      .digest('hex')
    const signed = await new AwsV4Signer({
      url: this.#url(asked),
      method,
      headers: { ...headers, 'x-amz-content-sha256': hash },
      body: body ?? null,
      ...{ accessKeyId: accessKey, secretAccessKey: secretKey, region, service: 's3' },
    }).sign()
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), waitMs)
    try {
      return await fetch(signed.url, {
        method,
        headers: signed.headers,
        body: body ?? null,
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      })
    } catch (error) {
      const { code = '' } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
      throw new BucketError(whatOf(asked), { status: 0, code: late.signal.aborted ? 'no answer in time' : code })
    } finally {
      clearTimeout(timer)
    }
  }
}

interface PutOptions {
  mimeType?: string
  signal?: AbortSignal
}

interface PresignOptions {
  endpoint: string
  seconds: number
  query: Readonly<Record<string, string>>
}

const typed = (mimeType: string | undefined): Record<string, string> => (mimeType ? { 'content-type': mimeType } : {})

const whatOf = ({ method, key, query = {} }: Asked): string =>
  `${method} of ${key === undefined ? 'the bucket' : key}${Object.keys(query).length ? ` (${Object.keys(query).join(', ')})` : ''}`

async function errorOf(asked: Asked, response: Response): Promise<BucketError> {
  const text = await response.text().catch(() => '')
  const code = element(text, 'Code').slice(0, codeCharacters)
  return new BucketError(whatOf(asked), { status: response.status, code })
}

export const isTransient = ({ status }: BucketError): boolean =>
  status === 0 || status === 408 || status === 429 || (status >= 500 && status !== 501)

const drained = async (answer: Promise<Response>): Promise<void> => void (await (await answer).arrayBuffer())

/** S3's answers are flat: elements are never nested in elements of the same kind. */
const elements = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g'))].map(([, inside = '']) => inside)

const element = (xml: string, name: string): string =>
  (elements(xml, name)[0] ?? '').replaceAll(/&(quot|apos|lt|gt|amp);/g, (_, entity: string) => entities[entity] ?? '')

const entities: Readonly<Record<string, string>> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' }

/** How long a request may take until its answer begins; the largest carries a part of 8 MiB or more. */
const requestMs = 60_000

/** Attempts of one request, and the first wait: five seconds in total, which is enough for a server's restart. */
const attempts = 5
const retryMs = 250
const retryMostMs = 2_000

/** The length of an error code; a server's message is never shown. */
const codeCharacters = 60
