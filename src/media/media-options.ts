/** Where finished media go: `media` of the configuration. */
export type MediaOptions = { folder: string } | { s3: BucketMediaOptions }

export interface BucketMediaOptions extends BucketOptions {
  /** Begins the name of every object: `farebox/`. */
  prefix: string
  /** Callers download from the bucket at this address; through the service by default. */
  downloadEndpoint?: string
}

export interface BucketOptions {
  /** `https://s3.eu-central-1.amazonaws.com`; the bucket is the first part of the path there. */
  endpoint: string
  region: string
  bucket: string
  accessKey: string
  secretKey: string
  /** How long a request may take until its answer begins; `requestMs` by default. Tests shorten it. */
  requestMs?: number
}
