import { expect, test } from 'vitest'
import { Slots } from '#host/slots.ts'

const staying = new AbortController().signal

test('who leaves the line gives up the place at once, and is passed over when a slot is free', async () => {
  const slots = new Slots(1, 1)
  const first = Promise.withResolvers<void>()
  const running = slots.run(() => first.promise, staying)
  const gone = new AbortController()
  let began = false
  const left = slots.run(async () => {
    began = true
  }, gone.signal)
  expect(slots.full).toBe(true)
  gone.abort(new Error('gone'))
  await expect(left).rejects.toThrow('gone')
  expect(slots.full).toBe(false)
  const next = slots.run(async () => 'next', staying)
  first.resolve()
  await running
  expect(await next).toBe('next')
  expect(began).toBe(false)
  expect(await slots.run(async () => 'free', staying)).toBe('free')
})

test('who had left before takes no slot', async () => {
  const slots = new Slots(1, 1)
  await expect(slots.run(async () => 'ran', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  expect(await slots.run(async () => 'free', staying)).toBe('free')
})

test('who leaves after the turn has begun ends the task alone, and the slot is passed on once', async () => {
  const slots = new Slots(1, 2)
  const first = Promise.withResolvers<void>()
  const running = slots.run(() => first.promise, staying)
  const gone = new AbortController()
  const second = slots.run(async () => gone.abort(new Error('gone')), gone.signal)
  const third = slots.run(async () => 'third', staying)
  first.resolve()
  await Promise.all([running, second])
  expect(await third).toBe('third')
  expect(await slots.run(async () => 'free', staying)).toBe('free')
})
