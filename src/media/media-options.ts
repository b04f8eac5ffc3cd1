/** The settings of the media store: `media` in the configuration. */
export type MediaOptions = { folder: string } | { s3: BucketMediaOptions }

export interface BucketMediaOptions extends BucketOptions {
  /** Prefix of every object's name, such as `farebox/`. */
  prefix: string
  /** The address at which callers download from the bucket; by default they download through the service. */
  downloadEndpoint?: string
}

export interface BucketOptions {
  /** Such as `https://s3.eu-central-1.amazonaws.com`; the bucket is the first segment of the path. */
  endpoint: string
  region: string
  bucket: string
  accessKey: string
  secretKey: string
  /** How long a request may take until its answer begins; a minute by default. Tests shorten it. */
  requestMs?: number
}
