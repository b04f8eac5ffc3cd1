/** A file is truncated, damaged, or not of its format. */
export class Unreadable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unreadable'
  }
}

/** A file is complete but contains more than we accept. The message tells its sender what and how much. */
export class Excessive extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Excessive'
  }
}
