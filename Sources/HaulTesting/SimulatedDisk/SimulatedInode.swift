import HaulCore

/// A file as programs see it, and as it would be after a power cut.
struct SimulatedInode {
  /// The unit that a power cut may tear.
  static let blockSize = 512

  /// The page cache.
  private(set) var cache: [UInt8] = []
  /// Bytes that are certainly on the disk.
  private(set) var disk: [UInt8] = []
  /// Blocks that differ, and that the next sync will write.
  private var dirty: Set<Int> = []
  /// The bytes that take room: those written, and those reserved.
  private(set) var allocated = ByteRangeSet()
  var mode: UInt32 = 0o600
  var modified: Double = 0
  var attribute: [UInt8]?
  var changed: Double = 0

  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard !bytes.isEmpty else { return }
    grow(to: offset + bytes.count)
    cache.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    markDirty(offset..<(offset + bytes.count))
    allocated.insert(contentsOf: Int64(offset)..<Int64(offset + bytes.count))
  }

  mutating func allocate(_ range: ByteRange) {
    grow(to: Int(range.upperBound))
    allocated.insert(contentsOf: range)
  }

  /// The zeros reach the disk with the next sync, or at any time before it.
  mutating func deallocate(_ range: ByteRange) {
    allocated.remove(contentsOf: range)
    let cached = Int(range.lowerBound)..<min(Int(range.upperBound), cache.count)
    guard !cached.isEmpty else { return }
    cache.replaceSubrange(cached, with: [UInt8](repeating: 0, count: cached.count))
    markDirty(cached)
  }

  mutating func truncate(to size: Int) {
    if size < cache.count {
      markDirty(size..<cache.count)
      allocated.remove(contentsOf: Int64(size)..<Int64(cache.count))
      cache.removeLast(cache.count - size)
    }
    grow(to: size)
  }

  private mutating func grow(to size: Int) {
    guard size > cache.count else { return }
    cache.append(contentsOf: [UInt8](repeating: 0, count: size - cache.count))
  }

  private mutating func markDirty(_ range: Range<Int>) {
    dirty.formUnion((range.lowerBound / Self.blockSize)...((range.upperBound - 1) / Self.blockSize))
  }

  mutating func sync() {
    resizeDisk(to: cache.count)
    for block in dirty { copy(block, bytes: Self.blockSize) }
    dirty = []
  }

  /// As on Linux: the pages stay, count as clean, and are never written.
  mutating func failSync() { dirty = [] }

  /// Keeps some of what was not synced, also parts of a block, in any order.
  mutating func losePower(_ random: inout SimulationRandom) {
    let size = Bool.random(using: &random) ? cache.count : disk.count
    resizeDisk(to: max(cache.count, disk.count))
    for block in dirty.sorted() {
      switch random.below(5) {
      case 0, 1: copy(block, bytes: Self.blockSize)
      case 2: copy(block, bytes: random.below(Self.blockSize))
      default: break
      }
    }
    resizeDisk(to: size)
    cache = disk
    dirty = []
    allocated.remove(contentsOf: Int64(cache.count)..<Int64.max)
  }

  private mutating func resizeDisk(to size: Int) {
    if disk.count > size { disk.removeLast(disk.count - size) }
    if disk.count < size {
      disk.append(contentsOf: [UInt8](repeating: 0, count: size - disk.count))
    }
  }

  private mutating func copy(_ block: Int, bytes: Int) {
    let start = block * Self.blockSize
    let end = min(start + bytes, disk.count)
    guard start < end else { return }
    let kept = min(end, cache.count)
    if start < kept { disk.replaceSubrange(start..<kept, with: cache[start..<kept]) }
    let zeros = max(start, kept)..<end
    if !zeros.isEmpty {
      disk.replaceSubrange(zeros, with: [UInt8](repeating: 0, count: zeros.count))
    }
  }
}
