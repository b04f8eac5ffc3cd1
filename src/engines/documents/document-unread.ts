/** A document without a text that could be read; the message goes on after the name of the field. */
export class DocumentUnread extends Error {
  override readonly name = 'DocumentUnread'
}

/** What reads such documents does not load here. */
export class DocumentMissing extends Error {
  override readonly name = 'DocumentMissing'
}
