; JavaScript.
; include ecmascript
