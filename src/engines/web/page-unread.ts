/** A page that gives no text, through no fault of ours. The message follows the name of a field, and holds no word of the page. */
export class PageUnread extends Error {
  constructor(problem: string) {
    super(problem)
    this.name = 'PageUnread'
  }
}
