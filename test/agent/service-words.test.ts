import { expect, test } from 'vitest'
import { saidByService } from '#agent/words/service-words.ts'

// Each of these took time proportional to the square of its length.
test.each(['<', '<title', '<script ', '<style>', '</script', '-', ' '])(
  'a page of a megabyte of %j is read in no time that anybody waits for',
  piece => {
    const startedMs = performance.now()
    saidByService(`<html>${piece.repeat(1_000_000 / piece.length)}`)
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  },
)

test('the words of a page are those between its tags', () => {
  const page = '<!doctype html><script>let a = 1 < 2</script><body><p class="a">Too <b>many</b> calls.</p></body>'
  expect(saidByService(page).said).toBe('Too many calls.')
})
