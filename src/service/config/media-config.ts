import { z } from 'zod'
import type { MediaOptions } from '#media/media-options.ts'
import { HttpUrl } from './config-values.ts'

/** An endpoint without a path: the bucket is the first part of the path there. */
const Endpoint = HttpUrl.refine(
  text => !URL.canParse(text) || new URL(text).pathname === '/',
  'Must be a URL without a path; name the bucket in `bucket`',
)

const S3 = z.strictObject({
  endpoint: Endpoint,
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'a region such as eu-central-1, or auto')
    .default('us-east-1'),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'the name of a bucket: lower-case letters, digits, - and .'),
  /** Never empty: files below it expire. */
  prefix: z
    .string()
    .max(200)
    .regex(/^([A-Za-z0-9_-]+\/)+$/, 'a prefix that ends in /, such as farebox/')
    .default('farebox/'),
  accessKey: z.string().min(1).max(1_000),
  secretKey: z.string().min(1).max(1_000),
  /** Callers download from the bucket at this address; by default they download through the service. */
  downloadEndpoint: Endpoint.optional(),
})

/** Where finished media are stored: `media` in the data folder by default. */
export const MediaConfig = z
  .strictObject({
    /** Relative to the file; one that every process mounts. */
    folder: z.string().min(1).optional(),
    s3: S3.optional(),
  })
  .refine(({ folder, s3 }) => !folder !== !s3, 'Set either folder or s3')
export type MediaConfig = z.output<typeof MediaConfig>

/** `folder` is that of the configuration. */
export function mediaOptions(
  { folder, s3 }: MediaConfig,
  absolute: (path: string) => string,
): MediaOptions | undefined {
  if (folder !== undefined) return { folder: absolute(folder) }
  if (!s3) return undefined
  const { downloadEndpoint, ...bucket } = s3
  return { s3: { ...bucket, ...(downloadEndpoint ? { downloadEndpoint } : {}) } }
}
