/** Whether a body of this content type is read as JSON: by the service, and so by everybody who has to know what it will read. */
export function isJsonMediaType(contentType: string | null | undefined): boolean {
  const [mediaType = ''] = (contentType ?? '').split(';')
  return /^application\/(?:[\w.-]+\+)?json$/i.test(mediaType.trim())
}
