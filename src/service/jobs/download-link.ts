import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a download address is signed for. */
interface DownloadGrant {
  jobId: string
  expiresAtMs: number
}

/** Signs download addresses. The first secret signs; the others are accepted while a secret is being replaced. */
export class DownloadLinks {
  readonly #publicUrl: string
  readonly #secrets: readonly string[]

  constructor(publicUrl: string, secrets: readonly string[]) {
    this.#publicUrl = publicUrl
    this.#secrets = secrets
  }

  url(grant: DownloadGrant): string {
    const [secret = ''] = this.#secrets
    const query = new URLSearchParams({
      expires: grant.expiresAtMs.toString(),
      signature: signature(grant, secret),
    })
    return `${this.#publicUrl}/downloads/${grant.jobId}?${query}`
  }

  /** False for any other job, time or signature. Whether it has expired is for the caller's clock. */
  isSigned(grant: DownloadGrant, given: string): boolean {
    return this.#secrets.some(secret => sameText(signature(grant, secret), given))
  }
}

const signature = ({ jobId, expiresAtMs }: DownloadGrant, secret: string): string =>
  createHmac('sha256', secret).update(`download\n${jobId}\n${expiresAtMs}`).digest('base64url')

function sameText(expected: string, given: string): boolean {
  const left = Buffer.from(expected)
  const right = Buffer.from(given)
  return left.length === right.length && timingSafeEqual(left, right)
}
