import { Socket } from 'node:net'

/** Loaded before a program: whatever it connects to is not there, and its try is told on stderr. */
Socket.prototype.connect = function refused(this: Socket) {
  process.stderr.write('A connection was tried.\n')
  queueMicrotask(() => this.destroy(Object.assign(new Error('There is no route here'), { code: 'ENETUNREACH' })))
  return this
}
