"""Expressions of other languages than English in answers. They are matched against folded texts.

`INTRODUCTION` says at the start of a line that an answer follows, as in "Antwort: B" and "答案是B". A negation after it
("Die Antwort ist nicht A") stays in what is read as the answer, which is then no label.

`NO_IMAGE` says that there is no image, or asks for one. As in English, "I see no dog in the image" is about the content
of an image and matches none of the expressions: what is not seen, attached or there has to be the image itself.
"""

NOUNS = (
    *("antwort", "lösung", "réponse", "respuesta", "resposta", "risposta", "odpowiedź", "cevap", "antwoord", "svar"),
    *("jawaban", "ответ", "відповідь", "答案", "正确答案", "正確答案", "回答", "答え", "正解", "정답", "답"),
    *("الإجابة", "إجابة", "الجواب", "उत्तर"),
)
_TITLE = r"(?:(?:die|der|la|a|meine|ma|mi|minha|das) )?"
_TITLE += r"(?:(?:richtige|korrekte|finale|bonne|правильный|सही|最终|最終) ?)?"
_MORE = r"(?: (?:correcta|correcte|correta|corretta|final|finale|الصحيحة|الصحيح))?"
_IS = r"(?:\]? ?: ?| (?:ist|lautet|est|es|é|è|هي|هو) (?:(?:la|a) )?(?:: )?|是:? ?|为 ?|は ?|은 ?|\] ?)"
_CHOOSES = r"(?:我)?(?:(?:答案)?(?:应该|應該|应|應)?(?:选择?|選擇?)(?:项|項)?|(?:正确|正確)(?:的)?(?:选项|選項))"
_CHOOSES += r"(?:是|为|為)?:? ?"
_CHOOSES += r"(?=[(\[]?[a-z](?![a-z]))"
INTRODUCTION = rf"(?:\A|(?<=\n))(?:\[?{_TITLE}(?:{'|'.join(NOUNS)}){_MORE}{_IS}|{_CHOOSES}"
INTRODUCTION += r"|(?=[(\[]?[a-z][)\]]?(?:です|입니다|[가이] 정답\w*)[.\s]*\Z))"
COPULA = r"(?<=[a-z0-9)])(?:です|입니다|[가이] 정답(?:입니다|이에요)?| है)(?=[.\s]|\Z)"

_GERMAN_NOUN = r"(?:bild|bilder|bilds|foto|fotos|anhang|bildanhang|bilddatei|grafik)\b"
_ROMANCE_GUARD = r"(?! (?:de|del|des|di|do|da|con|com|avec|où|donde|dove|onde)\b)"
_SPANISH = r"(?:imagen|imágenes|foto|fotos|fotografía|fotografías|archivo|adjunto)\b" + _ROMANCE_GUARD
_PORTUGUESE = r"(?:imagem|imagens|foto|fotos|fotografia|arquivo|anexo)\b" + _ROMANCE_GUARD
_ITALIAN = r"(?:immagine|immagini|foto|fotografia|allegato|allegati)\b" + _ROMANCE_GUARD
_FRENCH = r"(?:image|images|photo|photos|pièce jointe)\b" + _ROMANCE_GUARD
_RUSSIAN = r"(?:изображени\w*|картинк\w*|фото\w*|вложени\w*)"
_ARABIC = r"(?:ال)?(?:صورة|صور|صورا|مرفق|مرفقات)"
_HINDI = r"(?:छवि|छवियां|चित्र|तस्वीर|इमेज|फोटो|फ़ोटो)"
_CHINESE = r"(?:图片|图像|圖片|圖像|照片|影像|附件|图|圖)(?!中|里|裡|内|內|上(?!传|傳)|的|书)"
_JAPANESE = r"(?:画像|写真|イメージ|ファイル)"
_KOREAN = r"(?:이미지|사진|그림|첨부 ?파일)"

NO_IMAGE = (
    # German
    (
        r"\b(?:sehe|sehen|finde|habe|haben|erkenne|erkennen|öffnen|erhielt|erhalten|bekommen|ist|war|wurde|wurden"
        rf"|gibt es|liegt|fehlt)(?: (?:hier|da|leider|aktuell|mir|noch|ich|in|an|deiner|ihrer|der"
        rf"|nachricht)){{0,6}}"
        rf" kein(?:e|en)? {_GERMAN_NOUN}(?! (?:von|eines|einer|mit|des)\b)"
    ),
    rf"\A[^.!?\n]{{0,8}}\bkein(?:e|en)? {_GERMAN_NOUN}",
    (
        rf"\b{_GERMAN_NOUN}(?: \w+){{0,3}} (?:nicht|nie)(?: \w+){{0,2}}"
        r" (?:sehen|anzeigen|angezeigt|öffnen|laden|geladen|ansehen|betrachten|verarbeiten|analysieren|angehängt"
        r"|hochgeladen|beigefügt|übermittelt|mitgeschickt|vorhanden|verfügbar|sichtbar)\b"
    ),
    (
        r"\b(?:keine bilder|bilder nicht) (?:\w+ )?(?:sehen|anzeigen|ansehen|verarbeiten|analysieren"
        r"|betrachten|öffnen)\b"
    ),
    (
        r"\b(?:lade|laden|sende|senden|schicke|schicken|schick|teile|teilen|füge|fügen|hänge|hängen)(?: \w+){0,3}"
        rf" (?:das|ein|ihr|dein|mir) {_GERMAN_NOUN}"
    ),
    # Dutch
    r"\b(?:zie|heb|ontving|ontvangen|is|vind) (?:\w+ )?geen (?:afbeelding|afbeeldingen|foto|plaatje|bijlage)\b",
    r"\b(?:upload|stuur|deel|voeg)(?: \w+){0,2} (?:de|een|je|uw) (?:afbeelding|foto)\b",
    # French
    (
        r"\bn(?:e |')(?:\w+ )?(?:vois|voir|peux|reçois|reçu|trouve|ai|parviens)(?: (?:pas|aucune|à|encore|voir"
        r"|visualiser|accéder|afficher|ouvrir|reçu|accès|actuellement|directement|malheureusement|aux|les"
        r"|cette)){0,6}"
        rf" (?:pas |aucune |l'|d'|les |des |votre |une |cette |aux |à l'){{0,6}}{_FRENCH}"
    ),
    rf"\b(?:aucune|pas d'|pas l') ?{_FRENCH}(?! \w+ (?:sur|dans)\b)",
    (
        r"\b(?:image|photo) n(?:e s'|'|e )(?:\w+ )?(?:pas|a pas|est pas|affiche pas|a jamais)\b(?= (?:\w+ )?(?:join"
        r"t|fourni|charg|transmi|disponible|visible|affich|attach|envoy|reçu))"
    ),
    (
        r"\b(?:télécharge[rz]|téléverse[rz]|joignez|joindre|envoye[rz]|fournir|fournissez|partage[rz]|importe[rz]"
        rf"|ajoute[rz])(?:-moi)? (?:moi )?(?:l'|une |votre |la |cette )?{_FRENCH}"
    ),
    # Spanish
    (
        r"\bno (?:(?:me|se|te|puedo|podemos|logro|consigo|he|ha|has|han|hay|tengo|soy|capaz|de|acceso|a|es|posible)"
        r" ){0,6}(?:veo|ver|visualizar|acceder a|encuentro|recibo|recibí|recibido|hay|tengo|analizar|procesar|abrir"
        r"|proporcionado|adjuntado|incluido|cargado|subido|compartido|enviado|adjuntó|proporcionó|acceso a)"
        rf" (?:la |las |una |ninguna |ningún |el |tu |su |esta |alguna ){{0,6}}{_SPANISH}"
    ),
    r"\bninguna (?:imagen|foto) (?:adjunta|disponible|cargada|visible|proporcionada)\b",
    (
        r"\b(?:imagen|foto) no (?:\w+ ){0,3}(?:adjunt\w+|cargad\w+|cargó|proporcionad\w+|subid\w+|disponible"
        r"|visible"
        r"|enviad\w+|recibid\w+)\b"
    ),
    (
        r"\b(?:sub[aei]r?|sube|adjunt[ae]r?|env[ií][ae]r?|comparte|comparta|compartir|proporcion[ae]r?|carg[ae]r?"
        r"|cargue|mand[ae])(?:me|la)?(?: por favor)?,? (?:la |una |tu |su |esta |el ){0,6}"
        rf"{_SPANISH}"
    ),
    # Portuguese
    (
        r"\bnão (?:(?:me|se|posso|consigo|estou|foi|foram|há|tenho|tive|acesso|a|à|às|conseguindo|é"
        r"|possível) ){0,6}"
        r"(?:vejo|ver|visualizar|acessar|encontro|recebi|recebo|há|existe|tenho|acesso a|acesso à|anexada|fornecida"
        r"|enviada|anexou|enviou|analisar|processar|abrir|foi|foram)"
        rf" (?:a |as |uma |nenhuma |nenhum |o |sua |essa |esta |qualquer ){{0,6}}{_PORTUGUESE}"
    ),
    rf"\bnenhuma {_PORTUGUESE}(?= (?:foi|anexad|fornecid|enviad|dispon|visível|carregad))",
    (
        r"\b(?:imagem|foto) não (?:\w+ ){0,3}(?:anexad\w+|carregad\w+|carregou|fornecid\w+|enviad\w+"
        r"|dispon\w+|recebid\w+)\b"
    ),
    (
        r"\b(?:envi[ea]r?|anex[ea]r?|anexe|carregue|carregar|compartilh[ea]r?|partilhe|forneça|fornecer"
        r"|mande)(?:-me)?"
        rf"(?: por favor)?,? (?:a |uma |sua |essa |o ){{0,6}}{_PORTUGUESE}"
    ),
    # Italian
    (
        r"\bnon (?:(?:mi|si|posso|riesco|ho|hai|è|sono|stata|state|in|grado|di|ci|a|accesso|possibile"
        r"|c'è) ){0,6}(?:vedo"
        r"|vedere|visualizzare|trovo|ricevuto|ho|allegato|allegata|fornita|caricata|inviato|inviata|c'è"
        r"|ci sono|accedere"
        rf"|analizzare|aprire|stata|stato|accesso)(?: a|all'| alle)?,? ?(?:l'|le |la |un'|nessuna |alcuna |un "
        rf"|nessun ){{0,6}}{_ITALIAN}"
    ),
    rf"\bnessuna {_ITALIAN}(?= (?:è|allegat|fornit|caricat|inviat|dispon|visibile))",
    (
        r"\b(?:immagine|foto) non (?:\w+ ){0,3}(?:allegat\w+|caricat\w+|fornit\w+|disponibile|inviat\w+"
        r"|visibile|ricevut\w+)\b"
    ),
    (
        r"\b(?:carica|caricare|caricate|carichi|allega|allegare|alleghi|invia|inviare|inviami|invii|condividi"
        rf"|condividere|fornisci|fornire|fornisca|manda|mandami)(?: per favore)? (?:l'|un'|la |una |tua "
        rf"|le ){{0,6}}{_ITALIAN}"
    ),
    # Polish, Turkish, Vietnamese, Indonesian
    (
        r"\bnie (?:\w+ )?(?:widzę|zobaczyć|mam|załączono|dołączono|przesłano|otrzymał\w*|wyświetlić|ma)"
        r" (?:\w+ )?(?:obrazu|obrazka|obrazów|zdjęcia|zdjęć|załącznika)\b"
    ),
    r"\b(?:prześlij|załącz|dołącz|udostępnij)\w* (?:\w+ )?(?:obraz|obrazek|zdjęcie)\b",
    (
        r"\b(?:resim|resmi|görsel|görseli|görüntü|görüntüyü|fotoğraf|fotoğrafı) (?:\w+ )?(?:eklenmemiş"
        r"|eklenmedi|yok"
        r"|göremiyorum|yüklenmemiş|yüklenmedi|bulunamadı|bulunmuyor|sağlanmadı)\b"
    ),
    r"\b(?:resmi|görseli|görüntüyü|fotoğrafı|bir resim|bir görsel) (?:\w+ )?(?:yükle|paylaş|gönder|ekle)\w*",
    (
        r"\b(?:không|chưa) (?:\w+ ){0,3}(?:thấy|có|xem|nhận)(?: được)?(?: bất kỳ)? (?:hình ảnh|ảnh|hình)"
        r"(?= nào|[.,;!?\n]|\Z| được| đính kèm)"
    ),
    r"\b(?:tải lên|gửi|cung cấp) (?:cho tôi )?(?:hình ảnh|ảnh|bức ảnh|hình)\b",
    r"\b(?:tidak|belum) (?:\w+ )?(?:melihat|ada|menerima|mengakses|menemukan) (?:gambar|foto)(?! \w+ing\b)\b",
    r"\b(?:unggah|kirim|kirimkan|lampirkan|bagikan) (?:gambar|foto)\b",
    # Russian and Ukrainian
    (
        r"\bне (?:\w+ ){0,2}(?:вижу|увидеть|видеть|просмотреть|получил\w*|могу|прикреплен\w*|загружен\w*"
        rf"|предоставлен\w*|прикрепили|приложили|загрузили|бачу)(?: \w+)? {_RUSSIAN}(?! (?:с|на|собак|кош)\w*)"
    ),
    (
        rf"{_RUSSIAN} (?:\w+ ){{0,2}}не (?:\w+ )?(?:прикреп|загру|предостав|получ|прилож|отображ|было|доступ"
        rf"|прикріп|надан)"
    ),
    rf"{_RUSSIAN} (?:отсутству|недоступн)",
    rf"\bнет (?:\w+ )?{_RUSSIAN}(?=[.,;!?\n]|\Z| для| в (?:сообщ|вашем|запрос))",
    (
        rf"\b(?:загрузите|прикрепите|отправьте|пришлите|предоставьте|приложите|завантажте"
        rf"|надішліть)(?: \w+){{0,2}} {_RUSSIAN}"
    ),
    # Arabic
    (
        r"(?:لا|لم|لن|ليس|ليست)(?: \S+)? (?:أرى|أر|رؤية|يوجد|توجد|تظهر|يظهر|أتلق|استلم|أستلم|إرفاق|تحميل|أجد"
        r"|عرض|لدي"
        rf"|مشاهدة|يتم إرفاق|ترفق|تقم بإرفاق|هناك)(?: (?:أي|أية|هذه|إلى|على)){{0,6}} {_ARABIC}(?! (?:ل|كلب|قط)\S*)"
    ),
    rf"{_ARABIC} (?:غير|لم|ليست|ليس)(?: \S+)? ?(?:مرفقة|مرفق|متاحة|متوفرة|موجودة|ترفق|تحمل|تحميل|إرفاق|تظهر|مرئية)",
    rf"(?:تحميل|رفع|إرسال|إرفاق|مشاركة|تقديم|أرسل|ارفق|أرفق|حمل)(?: لي)? {_ARABIC}",
    # Hindi
    rf"कोई {_HINDI}(?! में)(?: (?!में)\S+){{0,4}} (?:नहीं|नही)",
    rf"{_HINDI} (?:संलग्न|अपलोड|उपलब्ध|लोड|प्रदान)(?: \S+){{0,2}} (?:नहीं|नही)",
    rf"{_HINDI} (?:को )?(?:नहीं|देख नहीं|दिखाई नहीं|दिख नहीं|देखने में)(?: \S+)? ?(?:देख|दिख|मिल|दे|सकता|सक्षम)",
    rf"{_HINDI} (?:\S+ )?(?:अपलोड|साझा|भेज|प्रदान|संलग्न)(?:ें| करें| कीजिए| कर दें| दें|िए)",
    # Chinese
    (
        r"(?:没有|沒有|没|沒|未|无法|無法|不能|看不到|看不见|看不見|未能|尚未|並未|并未|無|无)(?:能|法|有|被)?"
        r"(?:看到|看见|看見|收到|提供|上传|上傳|附上|附加|附带|附|发送|發送|查看|访问|存取|接收到|检测到|找到|显示"
        r"|加载|读取|讀取|识别|分析|处理|處理|直接查看|直接看到|直接)?(?:到|过|過|了|您|你|任何|的|该|該|这张"
        r"|這張|这|此"
        rf"|提供|上传|上傳|发送|發送|直接){{0,6}}{_CHINESE}"
    ),
    (
        rf"{_CHINESE}(?:似乎|好像|并|並|还|還|尚)?(?:没有|沒有|未|无法|無法|不能|没|沒)(?:能)?(?:成功|被|正确"
        rf"|正確|有){{0,6}}"
        r"(?:上传|上傳|加载|載入|加載|显示|顯示|附|提供|查看|打开|打開|发送|收到|成功)"
    ),
    (
        r"(?:请|請|麻烦|麻煩|烦请)(?:您|你|先|再|重新|把|将|將|直接|给我|給我){0,6}(?:上传|上傳|提供|发送|發送"
        r"|分享|附上|发|传)"
        rf"(?:一下|给我|給我|一张|一張|您的|你的|该|該|相关|需要|要|分析|的|清晰){{0,6}}{_CHINESE}"
    ),
    # Japanese
    (
        rf"{_JAPANESE}[がはをもまだてでさすれることきいりあえっ見受届読込送添付提供表示認識確信共有閲覧直接現在実際正しくアップロード]{{0,20}}"
        r"(?:ません|ない|なかった)"
    ),
    rf"{_JAPANESE}を(?:もう一度|再度|こちらに|先に)?(?:アップロード|添付|送信|送|提供|共有|見せ)",
    # Korean
    (
        rf"{_KOREAN}(?:가|이|를|을|은|는|도)? ?(?:(?:현재|아직|직접|전혀|제대로|실제로) ){{0,6}}(?:없|첨부되지"
        rf"|첨부되어 있지|보이지"
        r"|볼 수 ?없|볼 수가 없|제공되지|업로드되지|확인할 수 ?없|로드되지|받지|찾을 수 ?없|인식할 수 ?없"
        r"|분석할 수 ?없|전송되지)"
    ),
    rf"{_KOREAN}(?:를|을|도)? ?(?:다시 |먼저 )?(?:업로드|첨부|제공|보내|공유|올려)(?:해|하|주|해주)?(?! ?되지)",
)

NO_IMAGE_LANGUAGE = (  # what an answer of these languages that says so has, and few English ones
    r"[\u0370-\u1dff\u2e80-\uffff]|bild|anhang|grafik|afbeelding|foto|plaatje|bijlage|imagen|imágenes"
    r"|archivo|adjunt"
    r"|imagem|arquivo|anexo|immagin|allegat|aucune|pas [dl]'| n'|\bne \w|l'image|l'photo|pièce jointe"
    r"|votre|une (?:image|photo)"
    r"|obraz|zdję|załącznik|resim|resmi|görsel|görüntü|fotoğraf|ảnh|hình|gambar"
)
