import { ALL_FORMATS, BufferSource, EncodedPacketSink, Input } from 'mediabunny'

/** Each track of a file: what it is, how many packets it has, and when the last of them ends. */
export async function tracksOf(bytes: Uint8Array) {
  using input = new Input({ source: new BufferSource(bytes), formats: ALL_FORMATS })
  const tracks = []
  for (const track of await input.getTracks()) {
    let [packets, seconds] = [0, 0]
    for await (const packet of new EncodedPacketSink(track).packets(undefined, undefined, { metadataOnly: true })) {
      packets++
      seconds = Math.max(seconds, packet.timestamp + packet.duration)
    }
    const rotation = track.isVideoTrack() ? await track.getRotation() : null
    tracks.push({ kind: track.type, codec: await track.getCodec(), packets, seconds, rotation })
  }
  return tracks
}
