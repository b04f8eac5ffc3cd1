import { defineApp } from '#toolkit/apps/app-page.ts'

/** How often a view polls a job before it leaves the rest to the conversation: for a quarter of an hour. */
const mostLooks = 45
const lookSeconds = 20

export default defineApp('media', {
  title: 'Media player',
  description: 'Shows the images, audio or video that a call made, its price, and the state of a job until it is done.',
  script: `
const shownTypes = /^(image|audio|video)\\/[a-z0-9.+-]+$/

/** Some clients get no link, or one without its type. */
function addressOf({ path }) {
  const address = new URL('file:///')
  address.pathname = path.replaceAll('%', '%25')
  return address.href
}

/** Returns the complete file through the host, or the small block of the result; null if neither is available. */
async function sourceOf(file, uri, result) {
  const kind = file.mime_type.split('/')[0]
  if (can.serverResources) {
    const read = await request('resources/read', { uri }).catch(() => null)
    const content = read?.contents?.[0]
    if (content?.blob && shownTypes.test(content.mimeType)) return 'data:' + content.mimeType + ';base64,' + content.blob
  }
  const block = result.content.find(({ type }) => type === kind)
  return block && shownTypes.test(block.mimeType) ? 'data:' + block.mimeType + ';base64,' + block.data : null
}

async function figureOf(file, link, result) {
  const caption = element('figcaption', file.path + ' (' + file.mime_type + ', ' + file.bytes + ' bytes)')
  const source = shownTypes.test(file.mime_type) ? await sourceOf(file, link?.uri ?? addressOf(file), result) : null
  if (source === null) return element('figure', paragraph('Open the file to see it.'), caption)
  const tag = { image: 'img', audio: 'audio', video: 'video' }[source.slice(5).split('/')[0]]
  const player = element(tag)
  player.src = source
  if (tag === 'img') player.alt = 'The generated image'
  else player.controls = true
  return element('figure', player, caption)
}

async function follow(jobId, turn) {
  for (let look = 0; look < ${mostLooks} && turn === turns; look += 1) {
    const result = await callTool('job_wait', { job_id: jobId, wait_seconds: ${lookSeconds} }).catch(() => null)
    if (result === null || turn !== turns) return
    if (result.isError || result.structuredContent?.state !== 'running') return show(result)
  }
}

async function view(data, result) {
  const turn = turns
  const files = data.files ?? (data.file ? [data.file] : [])
  const links = result.content.filter(({ type }) => type === 'resource_link')
  const made = element('section')
  const job = data.job_id && rows([['Job', data.job_id], ['Model', data.model], ['State', data.state], ['Price', known(data.price_usd)], ['Failure', data.failure]])
  draw(made, job || (data.model ? rows([['Model', data.model]]) : null), paidOf(data), data.is_blurred ? paragraph('The service blurred content that violates its policy.') : null)
  if (data.state === 'running') {
    made.append(element('progress'))
    if (can.serverTools) follow(data.job_id, turn)
    return
  }
  for (const [index, file] of files.entries()) {
    const figure = await figureOf(file, links[index], result)
    if (turn !== turns) return
    made.append(figure)
  }
}`,
})
