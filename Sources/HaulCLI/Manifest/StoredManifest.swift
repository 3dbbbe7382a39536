import Crypto
import FoundationEssentials
import HaulControl
import HaulCore
import HaulKit
import HaulLibC

/// A manifest in a store, which runs on several machines share.
///
/// A run works with a copy, in the state directory of its machine. At the end it stores the copy,
/// on the condition that the store still has what was copied; if another run was faster, its lines
/// are taken first. What a run that was killed has added is in its copy, and the next run on its
/// machine takes that up.
final class StoredManifest {
  private let object: CommandStore.Object
  private let options: RequestOptions
  private let clock: any TransferClock
  private let directory: String
  /// What the names of all copies begin with. Their last word is how many bytes the store had.
  private let prefix: String
  private var copy = Copy(path: "", descriptor: -1, base: 0)
  private var condition = UploadRequest.Precondition.absent

  private struct Copy {
    var path: String
    /// Locked, so that no other run takes it for one of a run that was killed.
    let descriptor: Int32
    /// How many bytes the store had; what follows is of runs on this machine.
    let base: Int64
  }

  private static let mostAttempts = 100

  /// - Parameter options: of the requests to the store.
  init(
    _ object: CommandStore.Object, _ options: RequestOptions, _ context: ProcessContext
  ) throws(TransferError) {
    (self.object, self.options, clock) = (object, options, context.clock)
    let location = try ControlLocation(environment: context.environment)
    try location.prepareDirectory()
    directory = location.manifests
    try PrivateDirectory.prepare(directory, "manifest", variable: "XDG_STATE_HOME")
    let digest = SHA256.hash(data: Array(object.object.url.absoluteString.utf8))
    prefix = digest.prefix(16).hexDigits + "-"
  }

  deinit { if copy.descriptor >= 0 { _ = close(copy.descriptor) } }  // what it has was synced

  /// Takes what the store has, and what was left here.
  /// - Returns: the path of the copy.
  func take(by manager: TransferManager) async throws(TransferError) -> String {
    ManifestCopyPlace.removeAbandoned(in: directory)
    copy = try await fetched(by: manager)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    for name in names where name.hasBytePrefix(prefix) { try adopt(name) }
    return copy.path
  }

  /// Stores what this machine has added.
  /// - Throws: why that was not possible; the lines stay here.
  func publish(by manager: TransferManager) async throws(TransferError) {
    var attempt = 1
    while true {
      guard try size(of: copy.descriptor) > copy.base else { return remove(copy) }
      do throws(TransferError) {
        var upload = UploadRequest(
          copy.path, to: object.object, credentials: object.store.credentials)
        (upload.keySource, upload.precondition) = (object.store.keySource, condition)
        (upload.retry, upload.allowInsecure) = (request.retry, request.allowInsecure)
        let result = try await manager.add(TransferRequest(.upload(upload))).result
        if let error = result.error { throw error }
        return remove(copy)
      } catch {
        // The object is another one, or no longer there.
        let isConflict = error.status == 412 || error.status == 404 && error.cause != .noBucket
        guard isConflict, attempt < Self.mostAttempts else {
          throw TransferError(
            error.code, error.fact,
            advice: "its lines stay on this machine; the next run here stores them",
            status: error.status,
            isRetryable: error.isRetryable || isConflict || error.status == 409)
        }
      }
      // The others store as often.
      let pause = Duration.milliseconds(Int64.random(in: 50...200) * Int64(min(attempt, 20)))
      try? await clock.sleep(until: clock.now + pause)  // ends early when cancelled
      attempt += 1
      let old = copy
      copy = try await fetched(by: manager)
      try append(old)
      remove(old)
      _ = close(old.descriptor)  // nothing more is written to it
    }
  }

  private var request: DownloadRequest {
    var request = DownloadRequest(
      object.object, credentials: object.store.credentials, to: .stream)
    request.take(object.object, object.store.credentials, object.store.keySource)
    options.apply(to: &request)
    return request
  }

  /// A copy of what the store has; without lines if that is nothing.
  /// - Throws: also for an object that is no manifest.
  private func fetched(by manager: TransferManager) async throws(TransferError) -> Copy {
    let place = try ManifestCopyPlace(in: directory, prefix)
    defer { withExtendedLifetime(place) {} }  // until the copy has its name
    let path = place.path
    var request = request
    request.destination = .file(path)
    do throws(TransferError) {
      guard let tag = try await manager.probe(request).entityTag else {
        throw TransferError(
          .protocolViolation, "the store gives no entity tag",
          advice: "two runs at once would lose lines; keep the manifest in a file")
      }
      condition = .entityTag(tag)
      let result = try await manager.add(TransferRequest(.download(request))).result
      if let error = result.error { throw error }
    } catch {
      guard error.code == .notFound, error.cause != .noBucket else { throw error }
      condition = .absent
    }
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw ManifestFile.error(path, "cannot be opened", errno)
    }
    let base = try size(of: descriptor)
    let start = FileLines.bytes(of: descriptor, 0, 4096) ?? []
    guard base == 0 || ManifestLine.isOne(start.prefix { $0 != 0x0A }) else {
      throw TransferError(.io, "the object is no manifest", advice: "name another one")
    }
    let copy = Copy(path: "\(path)-\(base)", descriptor: descriptor, base: base)
    guard rename(path, copy.path) == 0 else {
      throw ManifestFile.error(path, "cannot be renamed", errno)
    }
    return copy
  }

  /// Takes the lines of a copy, unless its run is at work.
  private func adopt(_ name: String) throws(TransferError) {
    let (path, words) = (directory.appendingPath(name), name.byteSplit(separator: "-"))
    guard path != copy.path, words.count == 3, let base = Int64(words[2]) else { return }
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return }
    defer { _ = close(descriptor) }  // what it had was taken
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
    let old = Copy(path: path, descriptor: descriptor, base: base)
    // A manifest only grows: one that does not begin as the copy does was begun anew.
    if try beginsAs(old) { try append(old) }
    remove(old)
  }

  private func beginsAs(_ other: Copy) throws(TransferError) -> Bool {
    var offset: Int64 = 0
    while offset < other.base {
      let count = Int(min(1 << 20, other.base - offset))
      guard let own = FileLines.bytes(of: copy.descriptor, offset, count),
        let others = FileLines.bytes(of: other.descriptor, offset, count)
      else { throw ManifestFile.error(other.path, "cannot be read", errno) }
      guard own == others, own.count == count else { return false }
      offset += Int64(count)
    }
    return true
  }

  /// Adds to this copy the lines that another one has beyond what the store had. After a power cut,
  /// not all of them may be lines.
  private func append(_ other: Copy) throws(TransferError) {
    var size = try size(of: copy.descriptor)
    let last = size > 0 ? FileLines.bytes(of: copy.descriptor, size - 1, 1) : [0x0A]
    var next: [UInt8] = last == [0x0A] ? [] : [0x0A]
    func write(atLeast least: Int) throws(TransferError) {
      guard next.count >= least else { return }
      guard FileLines.write(next[...], to: copy.descriptor, at: size) else {
        throw ManifestFile.error(copy.path, "cannot be written", errno)
      }
      size += Int64(next.count)
      next = []
    }
    _ = try FileLines.forEach { (offset, count) throws(TransferError) in
      guard let bytes = FileLines.bytes(of: other.descriptor, other.base + offset, count) else {
        throw ManifestFile.error(other.path, "cannot be read", errno)
      }
      return bytes
    } _: { (line) throws(TransferError) in
      guard ManifestLine.isOne(line) else { return }
      next += line
      next.append(0x0A)
      try write(atLeast: 1 << 20)
    }
    try write(atLeast: 1)
    guard fsync(copy.descriptor) == 0 else {
      throw ManifestFile.error(copy.path, "cannot be written", errno)
    }
  }

  private func size(of descriptor: Int32) throws(TransferError) -> Int64 {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw ManifestFile.error(copy.path, "cannot be read", errno)
    }
    return Int64(status.st_size)
  }

  /// One that stays is taken up by the next run, whose lines are then there twice.
  private func remove(_ copy: Copy) { _ = unlink(copy.path) }
}
