/** A red pixel as PNG, and no sound as WAV, in base64: the smallest that are whole. */
export const pixelPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

export const silenceWav = Buffer.concat([
  Buffer.from('RIFF'),
  littleEndian(36),
  Buffer.from('WAVEfmt '),
  littleEndian(16),
  Buffer.from([1, 0, 1, 0]),
  littleEndian(8000),
  littleEndian(8000),
  Buffer.from([1, 0, 8, 0]),
  Buffer.from('data'),
  littleEndian(0),
]).toString('base64')

function littleEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
