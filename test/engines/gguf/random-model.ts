import { writeFileSync } from 'node:fs'

/** A language model of one layer with random weights: its text is noise, but it has every part of a real model. */
export function writeRandomModel(path: string): void {
  const { members, tensors } = { members: membersOf(), tensors: tensorsOf() }
  const infos: Buffer[] = []
  const data: Buffer[] = []
  let offset = 0
  for (const { name, shape } of tensors) {
    infos.push(text(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(offset))
    const bytes = aligned(weights(name, shape))
    data.push(bytes)
    offset += bytes.length
  }
  const head = [Buffer.from('GGUF'), uint32(3), uint64(tensors.length), uint64(members.length), ...members, ...infos]
  writeFileSync(path, Buffer.concat([aligned(Buffer.concat(head)), ...data]))
}

const width = 64
const hidden = 128
const heads = 4
/** Each byte a token, so that any text can be read and said. */
const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
const vocabulary = ['<unk>', '<s>', '</s>', ...bytes, '▁']
const template =
  "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"

const kinds = { uint32: 4, int32: 5, float32: 6, text: 8, list: 9 }

const uint32 = (value: number) => written(4, buffer => buffer.writeUInt32LE(value))
const int32 = (value: number) => written(4, buffer => buffer.writeInt32LE(value))
const uint64 = (value: number) => written(8, buffer => buffer.writeBigUInt64LE(BigInt(value)))
const float32 = (value: number) => written(4, buffer => buffer.writeFloatLE(value))
const text = (value: string) => Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)])

function written(size: number, write: (buffer: Buffer) => void): Buffer {
  const buffer = Buffer.alloc(size)
  write(buffer)
  return buffer
}

const aligned = (buffer: Buffer) => Buffer.concat([buffer, Buffer.alloc((32 - (buffer.length % 32)) % 32)])

const count = (name: string, value: number) => Buffer.concat([text(name), uint32(kinds.uint32), uint32(value)])
const fraction = (name: string, value: number) => Buffer.concat([text(name), uint32(kinds.float32), float32(value)])
const words = (name: string, value: string) => Buffer.concat([text(name), uint32(kinds.text), text(value)])
const list = <Value>(name: string, kind: number, values: readonly Value[], write: (value: Value) => Buffer) =>
  Buffer.concat([text(name), uint32(kinds.list), uint32(kind), uint64(values.length), ...values.map(write)])

const membersOf = () => [
  words('general.architecture', 'llama'),
  words('general.name', 'random'),
  count('llama.context_length', 2048),
  count('llama.embedding_length', width),
  count('llama.block_count', 1),
  count('llama.feed_forward_length', hidden),
  count('llama.attention.head_count', heads),
  count('llama.attention.head_count_kv', heads),
  fraction('llama.attention.layer_norm_rms_epsilon', 1e-5),
  count('llama.rope.dimension_count', width / heads),
  count('llama.vocab_size', vocabulary.length),
  words('tokenizer.ggml.model', 'llama'),
  list('tokenizer.ggml.tokens', kinds.text, vocabulary, text),
  list('tokenizer.ggml.scores', kinds.float32, vocabulary, token => float32(-vocabulary.indexOf(token))),
  list('tokenizer.ggml.token_type', kinds.int32, vocabulary, token => int32(typeOf(token))),
  count('tokenizer.ggml.bos_token_id', 1),
  count('tokenizer.ggml.eos_token_id', 2),
  count('tokenizer.ggml.unknown_token_id', 0),
  words('tokenizer.chat_template', template),
]

/** 1 is a word, 2 unknown, 3 control, 6 a byte. */
function typeOf(token: string): number {
  if (token === '<unk>') return 2
  if (token.startsWith('<0x')) return 6
  return token.startsWith('<') ? 3 : 1
}

const tensorsOf = () => [
  { name: 'token_embd.weight', shape: [width, vocabulary.length] },
  { name: 'blk.0.attn_norm.weight', shape: [width] },
  ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map(each => ({
    name: `blk.0.${each}.weight`,
    shape: [width, width],
  })),
  { name: 'blk.0.ffn_norm.weight', shape: [width] },
  { name: 'blk.0.ffn_gate.weight', shape: [width, hidden] },
  { name: 'blk.0.ffn_up.weight', shape: [width, hidden] },
  { name: 'blk.0.ffn_down.weight', shape: [hidden, width] },
  { name: 'output_norm.weight', shape: [width] },
  { name: 'output.weight', shape: [width, vocabulary.length] },
]

/** The same noise each time; ones where a norm scales. */
function weights(name: string, shape: readonly number[]): Buffer {
  const size = shape.reduce((all, each) => all * each)
  let state = 7
  const noise = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32 - 0.5
  }
  return Buffer.concat(Array.from({ length: size }, () => float32(name.includes('norm') ? 1 : noise())))
}
