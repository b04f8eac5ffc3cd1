/** A file is cut off, damaged, or none of its format. */
export class Unreadable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unreadable'
  }
}

/** A file is whole, and has more in it than is taken. The message says what and how much, for its sender. */
export class Excessive extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Excessive'
  }
}
