/// Why an S3 store refuses to send an object, by the head of its answer: the body is not read.
enum S3Refusal {
  /// Nil if the status says enough.
  /// - Parameter region: that the signature named.
  static func advice(on head: ResponseHead, _ region: String) -> String? {
    // The store says it with each refusal of a request to the wrong region.
    if [301, 307, 400, 403].contains(head.status), let right = head.headers["x-amz-bucket-region"],
      S3Object.isRegion(right), right != region
    {
      return "the bucket is in the region \(right): name it"
    }
    switch head.status {
    case 404, 405:
      return head.headers["x-amz-delete-marker"]?.lowercased() == "true"
        ? "the object was deleted" : nil
    case 400:
      return "the store refuses the key, or the object is encrypted with a key of its own"
    case 403:
      return "the key may not read the object, or the object is archived, or this clock is wrong"
    default: return nil
    }
  }
}
