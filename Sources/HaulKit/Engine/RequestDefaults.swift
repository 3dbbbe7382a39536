import HaulCore

/// What a configuration adds to requests that do not say it themselves.
extension TransferManager.Configuration {
  func completed(_ request: TransferRequest) -> TransferRequest {
    var request = request
    if let download = request.download { request.download = completed(download) }
    if var upload = request.upload {
      upload.headers.add(missing: headers)
      if upload.retry == RetryPolicy() { upload.retry = retry }
      request.upload = upload
    }
    return request
  }

  func completed(_ download: DownloadRequest) -> DownloadRequest {
    var download = download
    download.headers.add(missing: headers)
    if download.retry == RetryPolicy() { download.retry = retry }
    return download
  }
}

extension HeaderFields {
  fileprivate mutating func add(missing others: HeaderFields) {
    for field in others where self[field.name] == nil { append(field.name, field.value) }
  }
}
